/** The last day of a window. */
import type { WindowText } from "../state/page-state";
import { formatSeconds, resolveTime } from "../state/window";

const DAY = 86_400;

/** Return the last 24 hours of a window, or all of a shorter one. A window without meaning stays: the API says what is wrong. */
export function lastDay(window: WindowText, now: number): WindowText {
  const [start, end] = [resolveTime(window.start, now), resolveTime(window.end, now)];
  if (start === undefined || end === undefined || end - start <= DAY) return window;
  // `now-1d` stays what it is, so that the same window is the same request.
  return { start: window.end.startsWith("now") ? `${window.end}-1d` : formatSeconds(end - DAY), end: window.end };
}
