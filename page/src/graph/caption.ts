/** A graph in a line of text: for the status line, for files and for screen readers. */

import type { PageState } from "../state/page-state";
import { isoTime, type Asked } from "./csv";
import type { GraphCounts } from "./model";

export function countText({ datasets, fields, pairs, unordered }: GraphCounts): string {
  const of = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const order = unordered > 0 ? [`${unordered.toLocaleString("en")} of them not in order`] : [];
  return [of(datasets, "dataset"), of(fields, "field"), of(pairs, "pair"), ...order].join(", ");
}

/** Return what a graph is about: names, windows, counts and the limit that cut it. */
export function captionOf({ ns, name, field }: PageState, { window, base, truncatedBy }: Asked, counts: string): string {
  const place = [ns, name, field === "*" ? "every row" : field].filter(Boolean).join(" › ");
  const times = window && `runs started ${isoTime(window.start)} to ${isoTime(window.end)}`;
  const compared = base && `compared with ${isoTime(base.start)} to ${isoTime(base.end)}`;
  return [place, times, compared, counts, truncatedBy && `not complete: ${truncatedBy}`].filter(Boolean).join(" · ");
}
