/** Lists that show their first items, and the others on demand. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../browser/numbers";
import { Button } from "./button";

interface LimitedProps<T> {
  items: readonly T[];
  /** How many are shown at first. */
  first: number;
  /** What they are, in the plural. */
  what: string;
  /** Show all of them: on paper there is no button. */
  isWhole?: boolean;
  children: (shown: readonly T[]) => ComponentChildren;
}

/** Show the first items, and a button that says how many there are more. */
export function Limited<T>({ items, first, what, isWhole = false, children }: LimitedProps<T>) {
  const [isOpen, setOpen] = useState(false);
  // One more is not worth a button.
  const shown = isWhole || isOpen || items.length <= first + 1 ? items : items.slice(0, first);
  const more = items.length - shown.length;
  return (
    <>
      {children(shown)}
      {more > 0 && (
        <>
          <Button kind="quiet" onClick={() => setOpen(true)}>
            {formatCount(more)} more {what}
          </Button>
          <p class="only-in-print">
            {formatCount(more)} more {what} are not shown.
          </p>
        </>
      )}
    </>
  );
}
