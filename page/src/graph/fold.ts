/** Which fields a box shows: in a large graph only those that are lit, and one row for the others. */

import type { Box, Field, Graph } from "./model";

const PAIRS_MAX = 400;
export const FIELDS_MAX = 60;
/** Rows of fields that are lit or unfolded, over the whole graph, so that the drawing stays small. */
export const ROWS_MAX = 800;
/** Fields that one click unfolds. */
export const UNFOLD = 200;

/** What a box shows. `hidden` fields stand in one row after `shown`; `key` is equal if all that is drawn is. */
export interface FoldedBox {
  readonly box: Box;
  readonly shown: readonly Field[];
  readonly hidden: number;
  readonly key: string;
}

/** How many clicks unfolded the boxes with these keys. */
export type Unfolded = ReadonlyMap<string, number>;

/** Return whether a box is folded: its graph has many pairs, or it has many fields. */
function isFolded(graph: Graph, box: Box): boolean {
  return graph.links.length > PAIRS_MAX || box.fields.length > FIELDS_MAX;
}

/** What decides which fields are shown: those that are lit, `first` before others, and clicks. */
export interface Folding {
  readonly lit?: ReadonlySet<Field>;
  readonly first?: Field | undefined;
  readonly unfolded?: Unfolded;
}

/** Return what each box shows, in the order of the graph; at most ROWS_MAX lit fields in folded boxes, each its share. */
export function fold(graph: Graph, { lit = new Set(), first, unfolded = new Map() }: Folding = {}): FoldedBox[] {
  const litBoxes = new Set([...lit].map(({ box }) => box));
  const share = Math.max(1, Math.min(FIELDS_MAX, Math.floor(ROWS_MAX / Math.max(1, litBoxes.size))));
  return graph.boxes.map((box) => {
    const shown = isFolded(graph, box) ? foldBox(box, shownFirst(box, lit, first, share), unfolded.get(box.key) ?? 0) : box.fields;
    const hidden = box.fields.length - shown.length;
    const positions = hidden === 0 ? "all" : shown.map((field) => box.fields.indexOf(field)).join();
    return { box, shown, hidden, key: `${box.key} ${positions}` };
  });
}

function shownFirst(box: Box, lit: ReadonlySet<Field>, first: Field | undefined, share: number): Set<Field> {
  const fields = box.fields.filter((field) => field !== first && lit.has(field));
  return new Set(first?.box === box ? [first, ...fields.slice(0, share - 1)] : fields.slice(0, share));
}

function foldBox(box: Box, first: ReadonlySet<Field>, clicks: number): readonly Field[] {
  // A row "1 more" would take the place of the field itself.
  if (clicks === 0 && first.size > 0 && first.size + 1 >= box.fields.length) return box.fields;
  let more = clicks * UNFOLD;
  return box.fields.filter((field) => first.has(field) || (more > 0 && more-- > 0));
}
