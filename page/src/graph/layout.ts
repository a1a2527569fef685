/** Where boxes stand, and the lanes in which long links pass between them: pure, and equal for equal input. */

import { createItem, Lanes, type Item, type Pair } from "./lanes";
import { rankNodes } from "./ranks";

const GAP_Y = 22;
const SWEEPS = 8;

/** Boxes by their heights; pairs of them with the height at which a link leaves and arrives. A pair stands once. */
export interface LayoutInput {
  readonly heights: readonly number[];
  readonly pairs: readonly Pair[];
  /** Heights that boxes have now: columns are stretched for them, but keep their order, and other columns stay. */
  readonly stretched?: readonly number[];
}

/** Columns and tops of boxes, and for each pair the lanes that its links take, in their order. */
export interface Layout {
  readonly columns: readonly number[];
  readonly tops: readonly number[];
  readonly lanes: readonly (readonly Lane[])[];
  readonly bottom: number;
}

/** A passage through a column; `isBack` if links pass it from right to left. */
export interface Lane {
  readonly column: number;
  readonly y: number;
  readonly isBack: boolean;
}

export function layoutBoxes({ heights, pairs, stretched }: LayoutInput): Layout {
  const columns = rankNodes(heights.length, pairs);
  const boxes = heights.map((height, index) => createItem(columns[index]!, height, GAP_Y));
  const lanes = new Lanes(boxes, pairs);
  place([...boxes, ...lanes.items]);
  const top = [...boxes, ...lanes.items].reduce((least, { y }) => Math.min(least, y), Infinity);
  if (stretched) stretch([...boxes, ...lanes.items], boxes, { heights: stretched, top });
  const round = (y: number) => Math.round(y - top);
  return {
    columns,
    tops: boxes.map(({ y }) => round(y)),
    lanes: lanes.ofPairs.map(({ items, isBack }) => items.map(({ column, y }) => ({ column, y: round(y), isBack }))),
    bottom: [...boxes, ...lanes.items].reduce((most, { y, height }) => Math.max(most, round(y) + height), 0),
  };
}

function stretch(items: readonly Item[], boxes: readonly Item[], { heights, top }: { heights: readonly number[]; top: number }): void {
  const isChanged = (box: Item, index: number) => box.height !== heights[index];
  const columns = new Set(boxes.filter(isChanged).map(({ column }) => column));
  boxes.forEach((box, index) => (box.height = heights[index]!));
  for (const column of columns) {
    const changed = items.filter((each) => each.column === column).sort((a, b) => a.y - b.y);
    stack(changed, changed.map(({ y }) => y));
    // A column that would grow beyond the top moves down, so that everything else stays.
    const above = Math.max(0, top - changed[0]!.y);
    for (const each of changed) each.y += above;
  }
}

/** Sweep over the columns to and fro, order each by where its neighbours would have it, and place it without overlaps. */
function place(items: readonly Item[]): void {
  const columns: Item[][] = [];
  for (const each of items) (columns[each.column] ??= []).push(each);
  const present = columns.filter((column) => column !== undefined);
  for (const column of present) stack(column, column.map(() => 0));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const [order, isLast] = [sweep % 2 === 0 ? present : [...present].reverse(), sweep >= SWEEPS - 2];
    for (const column of order) {
      const wanted = new Map(column.map((each) => [each, wantedY(each, isLast ? 0 : sweep % 2 === 0 ? -1 : 1)]));
      if (!isLast) column.sort((a, b) => wanted.get(a)! + a.height / 2 - wanted.get(b)! - b.height / 2);
      stack(column, column.map((each) => wanted.get(each)!));
    }
  }
}

/** Return the mean of what neighbours want: those to the left (-1), to the right (1), or on both sides (0). */
function wantedY(each: Item, side: number): number {
  const ends = each.ends.filter(({ other }) => side === 0 || (other.column - each.column) * side >= 0);
  if (ends.length === 0) return each.y;
  return ends.reduce((sum, { other, offset }) => sum + other.y + offset, 0) / ends.length;
}

/** Place items of a column in order, as near to the wanted places as gaps allow (pooling adjacent violators). */
function stack(column: readonly Item[], wanted: readonly number[]): void {
  const pools: { sum: number; count: number; start: number }[] = [];
  const offsets: number[] = [];
  for (let index = 0, offset = 0; index < column.length; index++) {
    offsets.push(offset);
    pools.push({ sum: wanted[index]! - offset, count: 1, start: index });
    while (pools.length > 1 && mean(pools.at(-2)!) >= mean(pools.at(-1)!)) {
      const last = pools.pop()!;
      pools.at(-1)!.sum += last.sum;
      pools.at(-1)!.count += last.count;
    }
    const [each, below] = [column[index]!, column[index + 1]];
    offset += each.height + Math.max(each.gap, below?.gap ?? 0);
  }
  for (const { sum, count, start } of pools)
    for (let index = start; index < start + count; index++) column[index]!.y = sum / count + offsets[index]!;
}

function mean({ sum, count }: { sum: number; count: number }): number {
  return sum / count;
}
