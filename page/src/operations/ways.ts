/** Ways of a field over time: the stretches of runs that made it in the same way, as parts of the window. */
import type { Stretch } from "../api/answers";
import type { WindowText } from "../state/page-state";
import { pinWindow } from "../state/window";

/** A part of a window, in fractions of its length from 0 to 1. `stretch` is its index; undefined for a gap. */
export interface Segment {
  from: number;
  to: number;
  stretch?: number;
}

/** Return the parts of a window, in epoch seconds, that stretches (newest first) cover, and the gaps; oldest first. */
export function segments(stretches: readonly Stretch[], window: { start: number; end: number }): Segment[] {
  const length = (window.end - window.start) * 1000;
  if (length <= 0) return [];
  const at = (ms: number) => Math.min(1, Math.max(0, (ms - window.start * 1000) / length));
  const parts: Segment[] = [];
  let before = 0;
  for (let stretch = stretches.length - 1; stretch >= 0; stretch -= 1) {
    const { firstStart, lastStart } = stretches[stretch] as Stretch;
    const [from, to] = [at(firstStart), at(lastStart)];
    if (from > before) parts.push({ from: before, to: from });
    parts.push({ from, to, stretch });
    before = to;
  }
  return before < 1 ? [...parts, { from: before, to: 1 }] : parts;
}

/** Return for each stretch the index of the newest one with the same content, its own if it is that one. */
export function sameContents(stretches: readonly Stretch[]): number[] {
  const first = new Map<string, number>();
  return stretches.map(({ checksum }, index) => {
    const same = first.get(checksum) ?? index;
    first.set(checksum, same);
    return same;
  });
}

/** Return the window of exactly the runs of a stretch: its end is a millisecond after the last start. */
export function stretchWindow({ firstStart, lastStart }: Pick<Stretch, "firstStart" | "lastStart">): WindowText {
  return pinWindow(firstStart / 1000, (lastStart + 1) / 1000);
}
