/** The search box: datasets and fields by name, best first. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { SearchHit } from "../api/answers";
import { useKeys } from "../browser/use-keys";
import { searchRequest } from "../queries/search";
import { useSearch } from "../queries/use-search";
import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { Icon } from "./button";
import { SearchHits } from "./search-hits";

export function Search() {
  const [typed, setTyped] = useState("");
  const [marked, setMarked] = useState(0);
  const [isOpen, setOpen] = useState(false);
  /** The text for which Enter was pressed before its hits were there. */
  const [awaited, setAwaited] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const text = typed.trim();
  const found = useSearch(text);
  const wanted = searchRequest.use();
  useKeys({ "/": () => input.current?.select() });

  const change = (next: string) => {
    setTyped(next);
    setMarked(0);
    setAwaited(undefined);
    setOpen(true);
  };
  const open = (hit: SearchHit | undefined) => {
    if (hit === undefined) return;
    change("");
    setOpen(false);
    input.current?.blur();
    push(hitState(hit));
  };
  useEffect(() => {
    if (wanted === undefined) return;
    change(wanted.text);
    input.current?.focus();
  }, [wanted]);
  useEffect(() => {
    if (found && awaited === found.text) open(found.hits[0]);
  }, [found, awaited]);

  const keys = (event: KeyboardEvent) => {
    const last = Math.max(0, (found?.hits.length ?? 0) - 1);
    if (event.key === "ArrowDown") setMarked(Math.min(marked + 1, last));
    else if (event.key === "ArrowUp") setMarked(Math.max(marked - 1, 0));
    else if (event.key === "Escape" && isOpen) setOpen(false);
    else if (event.key === "Enter") found ? open(found.hits[marked]) : setAwaited(text);
    else return;
    event.preventDefault();
  };
  const showsHits = isOpen && text !== "";
  return (
    <search class="search">
      <Icon name="search" />
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Search datasets and fields"
        aria-autocomplete="list"
        aria-expanded={showsHits}
        aria-controls={showsHits ? "search-hits" : undefined}
        aria-activedescendant={showsHits && found?.hits.length ? `search-hit-${marked}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Search datasets and fields"
        value={typed}
        onInput={(event) => change(event.currentTarget.value)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={keys}
      />
      <kbd aria-hidden="true">/</kbd>
      {showsHits && <SearchHits found={found} marked={marked} open={open} />}
    </search>
  );
}

function hitState({ namespace, name, field }: SearchHit): Partial<PageState> {
  return field === undefined ? { view: "dataset", ns: namespace, name } : { view: "graph", ns: namespace, name, field };
}
