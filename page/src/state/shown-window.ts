/** What the API answered about the window and the filters of the page, for the controls that set them. */

import type { ApiProblem } from "../api/client";
import type { Params } from "../api/paths";
import { createStore } from "../browser/store";
import { pageState } from "./navigation";
import type { WindowText } from "./page-state";
import { resolveTime } from "./window";

/** Bounds in epoch seconds, and the texts that they were computed from. */
export interface ShownWindow extends WindowText {
  from: number;
  to: number;
}

/** Parameters that were refused, with the reason, and the window that they were asked with. */
interface Refused extends WindowText {
  errors: ApiProblem["errors"];
}

const shown = createStore<ShownWindow | undefined>(undefined);
const refused = createStore<Refused | undefined>(undefined);

/** Remember the window of an answer, if its query was about the window of the page. */
export function notePageWindow(window: { start: number; end: number } | undefined, params: Params = {}): void {
  const { start, end } = pageState();
  if (window === undefined || params.start !== start || params.end !== end) return;
  refused.set(undefined);
  shown.set({ start, end, from: window.start, to: window.end });
}

/** Remember which parameters were refused, so that the controls can say so. */
export function noteRefused(errors: ApiProblem["errors"]): void {
  const { start, end } = pageState();
  refused.set({ start, end, errors });
}

/** Return the exact bounds of a window, once an answer named them. */
export function useShownWindow({ start, end }: WindowText): ShownWindow | undefined {
  const window = shown.use();
  return window?.start === start && window.end === end ? window : undefined;
}

/** Return the bounds of a window of exact times, before any answer; undefined for one that depends on `now`. */
export function exactWindow({ start, end }: WindowText): ShownWindow | undefined {
  if (start.includes("now") || end.includes("now")) return undefined;
  const [from, to] = [resolveTime(start, 0), resolveTime(end, 0)];
  return from === undefined || to === undefined ? undefined : { start, end, from, to };
}

/** Return why the API refused a parameter of the page, such as `start` or `level`. */
export function useRefusal(parameter: string, { start, end }: WindowText): string | undefined {
  const problem = refused.use();
  if (problem?.start !== start || problem.end !== end) return undefined;
  return problem.errors.find(({ at }) => at === parameter)?.detail;
}
