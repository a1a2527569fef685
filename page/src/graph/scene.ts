/** Where the boxes of a graph stand in its picture, and where their rows are. */

import { fold, type FoldedBox } from "./fold";
import type { Pair } from "./lanes";
import { layoutBoxes, type Lane, type Layout, type LayoutInput } from "./layout";
import type { Box, Field, Graph } from "./model";
import { boxWidth } from "./text";

export const HEADER = 44;
export const ROW = 22;
export const GAP_X = 96;
const MARGIN = 24;

export interface PlacedBox {
  readonly folded: FoldedBox;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

/** Boxes by their keys, all `boxWidth` wide, and for pairs of them the lanes between. */
export interface Plan {
  readonly boxWidth: number;
  readonly boxes: ReadonlyMap<string, PlacedBox>;
  readonly lanes: ReadonlyMap<string, readonly Lane[]>;
  readonly width: number;
  readonly height: number;
}

/** Place the boxes of a graph as they are folded. Lit rows stretch boxes, but others move only if they must. */
export function planGraph(graph: Graph, folded: readonly FoldedBox[]): Plan {
  const input = inputs.get(graph) ?? layoutInput(graph);
  inputs.set(graph, input);
  const layout = layoutBoxes({ ...input, stretched: folded.map(heightOf) });
  return toPlan(layout, folded, { keys: input.keys, boxWidth: input.boxWidth });
}

type Input = LayoutInput & { readonly keys: readonly string[]; readonly boxWidth: number };

/** What depends on the graph alone, and not on what is lit. */
const inputs = new WeakMap<Graph, Input>();

function layoutInput(graph: Graph): Input {
  const folded = fold(graph);
  const ports = new Ports(folded);
  const pairs = new Map<string, Pair[]>();
  const add = (source: Box, target: Box, fromY: number, toY: number) => {
    const pair = { from: source.index, to: target.index, fromY, toY };
    const key = pairKey(source, target);
    const others = pairs.get(key);
    if (others) others.push(pair);
    else pairs.set(key, [pair]);
  };
  for (const { source, target } of graph.links) add(source.box, target.box, ports.y(source), ports.y(target));
  for (const { source, target } of graph.unknown) add(source, target, HEADER / 2, HEADER / 2);
  const means = [...pairs.values()].map(meanPair);
  return { heights: folded.map(heightOf), pairs: means, keys: [...pairs.keys()], boxWidth: boxWidth(graph) };
}

function meanPair(pairs: readonly Pair[]): Pair {
  const mean = (key: "fromY" | "toY") => pairs.reduce((sum, pair) => sum + pair[key], 0) / pairs.length;
  return { ...pairs[0]!, fromY: mean("fromY"), toY: mean("toY") };
}

function toPlan(
  { columns, tops, lanes, bottom }: Layout,
  folded: readonly FoldedBox[],
  { keys, boxWidth }: { keys: readonly string[]; boxWidth: number },
): Plan {
  const boxes = folded.map((each, at): [string, PlacedBox] => {
    const place = { x: columnX(columns[at]!, boxWidth), y: tops[at]! + MARGIN, height: heightOf(each) };
    return [each.box.key, { folded: each, ...place }];
  });
  const last = columns.reduce((most, column) => Math.max(most, column), 0);
  return {
    boxWidth,
    boxes: new Map(boxes),
    lanes: new Map(keys.map((key, at) => [key, lanes[at]!.map((lane) => ({ ...lane, y: lane.y + MARGIN }))])),
    width: columnX(last, boxWidth) + boxWidth + GAP_X / 2,
    height: bottom + 2 * MARGIN,
  };
}

export function columnX(column: number, width: number): number {
  return GAP_X / 2 + column * (width + GAP_X);
}

export function heightOf({ shown, hidden }: FoldedBox): number {
  return HEADER + (shown.length + (hidden > 0 ? 1 : 0)) * ROW + (shown.length + hidden > 0 ? 6 : 0);
}

export function pairKey(source: Box, target: Box): string {
  return `${source.index} ${target.index}`;
}

/** The height of each field's row within its box, where links begin and end. */
export class Ports {
  private readonly rows = new Map<Field, number>();
  private readonly more = new Map<Box, number>();

  constructor(folded: readonly FoldedBox[]) {
    for (const { box, shown } of folded) {
      shown.forEach((field, row) => this.rows.set(field, row));
      this.more.set(box, shown.length);
    }
  }

  y(field: Field): number {
    return HEADER + ((this.rows.get(field) ?? this.more.get(field.box) ?? 0) + 0.5) * ROW;
  }
}
