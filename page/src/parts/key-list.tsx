/** The list of keys. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button";

const GROUPS: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: "Everywhere",
    keys: [
      ["/", "Search datasets and fields"],
      ["?", "This list"],
      ["Esc", "Close what is open"],
    ],
  },
  {
    title: "Graph",
    keys: [
      ["↑ ↓", "Field above, below"],
      ["→ ←", "Along the links"],
      ["n", "Next link of the field"],
      ["Enter", "Select"],
      ["o", "Open the field"],
      ["f", "Find in the graph"],
      ["+ − 0", "Larger, smaller, all of it"],
      ["Esc", "Clear the selection"],
    ],
  },
];

export function KeyList({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" onClose={close} aria-labelledby="keys-title">
      <div class="dialog-head">
        <h2 id="keys-title">Keys</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={() => dialog.current?.close()} />
      </div>
      {GROUPS.map(({ title, keys }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl class="keys">
            {keys.map(([key, text]) => (
              <div key={key}>
                <dt>{key.split(" ").map((part) => <kbd key={part}>{part}</kbd>)}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}
