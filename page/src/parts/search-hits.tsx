/** What a search found. */

import { useEffect, useRef } from "preact/hooks";
import type { SearchHit } from "../api/answers";
import type { Found } from "../queries/use-search";
import { Name } from "./field-name";

interface SearchHitsProps {
  /** Undefined while the search is under way. */
  found: Found | undefined;
  marked: number;
  open: (hit: SearchHit) => void;
}

export function SearchHits({ found, marked, open }: SearchHitsProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.children[marked]?.scrollIntoView({ block: "nearest" }), [marked]);
  const note = noteText(found);
  // The list exists even when it is empty: the input refers to it.
  return (
    <div class="search-hits">
      {note && <p class={found ? "nothing" : "nothing late"} role="status">{note}</p>}
      <ul ref={list} id="search-hits" role="listbox" aria-label="Datasets and fields">
        {found?.hits.map((hit, index) => (
          <li
            key={index}
            id={`search-hit-${index}`}
            role="option"
            aria-selected={index === marked}
            // Before the input loses the focus, which would close the list.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => open(hit)}
          >
            <Name text={hit.field ?? hit.name} />
            <span class="of">{hit.field === undefined ? `dataset in ${hit.namespace}` : `${hit.namespace} › ${hit.name}`}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function noteText(found: Found | undefined): string | undefined {
  if (found === undefined) return "Searching …";
  if (found.failure !== undefined) return `The search failed: ${found.failure}`;
  return found.hits.length === 0 ? "No dataset or field has this in its name." : undefined;
}
