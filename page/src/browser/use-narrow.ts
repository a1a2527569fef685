/** Whether the window is as narrow as that of a phone. */

import { useLayoutEffect, useState } from "preact/hooks";

const NARROW = "(max-width: 40rem)";

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useLayoutEffect(() => {
    const query = matchMedia(NARROW);
    const listener = () => setNarrow(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return isNarrow;
}
