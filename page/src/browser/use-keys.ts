/** Keys of the whole page. */

import { useLayoutEffect, useRef } from "preact/hooks";

export type KeyBindings = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Call a binding by `event.key`, except while the reader types or a modifier is down. */
export function useKeys(bindings: KeyBindings): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  // An effect would begin after the paint: a key pressed on what is already seen would be lost.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const binding = latest.current[event.key];
      if (binding === undefined || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      event.preventDefault();
      binding(event);
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input:not([type=checkbox]), select, textarea, dialog *");
}
