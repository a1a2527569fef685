/** Find a field in the graph. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { FieldLabel, Name } from "../parts/field-name";
import { findFields } from "./keys";
import type { Field } from "./model";
import type { Plan } from "./scene";

const HITS_MAX = 12;

interface FindProps {
  plan: Plan;
  choose: (field: Field) => void;
  close: () => void;
}

export function Find({ plan, choose, close }: FindProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  useLayoutEffect(() => input.current?.focus(), []);
  const hits = findFields(plan, text, HITS_MAX);
  const at = Math.min(active, hits.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const actions: Record<string, (() => void) | undefined> = {
      Escape: close,
      ArrowDown: () => setActive((at + 1) % Math.max(1, hits.length)),
      ArrowUp: () => setActive((at - 1 + hits.length) % Math.max(1, hits.length)),
      Enter: () => hits[at] && choose(hits[at]),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  return (
    <div class="find" onKeyDown={onKeyDown}>
      <input
        ref={input}
        type="text"
        list={undefined}
        role="combobox"
        placeholder="Find in the graph"
        aria-label="Find in the graph"
        aria-expanded={hits.length > 0}
        aria-controls="find-hits"
        aria-activedescendant={hits.length > 0 ? `find-hit-${at}` : undefined}
        value={text}
        onInput={({ currentTarget }) => { setText(currentTarget.value); setActive(0); }}
        onBlur={({ relatedTarget }) => relatedTarget === null || close()}
      />
      {text.trim() !== "" && hits.length === 0 && <p class="of" role="status">No field of this graph.</p>}
      <ul id="find-hits" role="listbox" aria-label="Fields" hidden={hits.length === 0}>
        {hits.map((field, index) => (
          // The pointer must not take the focus from the input before the click.
          <li key={index} id={`find-hit-${index}`} role="option" aria-selected={index === at} onPointerDown={(event) => event.preventDefault()} onClick={() => choose(field)}>
            <FieldLabel field={field.name} absent="dropped" /> <span class="of"><Name text={field.box.name} /></span>
          </li>
        ))}
      </ul>
    </div>
  );
}
