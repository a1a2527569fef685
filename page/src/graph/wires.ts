/** The links of a graph as paths: one for each pair of datasets and kind of link. */

import { isUnordered, type Box, type Change, type Graph, type Link } from "./model";
import { columnX, GAP_X, HEADER, pairKey, Ports, type Plan } from "./scene";
import { lightOfLink, type Light, type Trace } from "./trace";

/** All links of one kind between two datasets. `middle` is where the first of them can be marked. */
export interface Wire {
  readonly key: string;
  readonly path: string;
  readonly kind: "direct" | "indirect" | "unknown";
  readonly failed: boolean;
  readonly unordered: boolean;
  readonly light?: Light | undefined;
  readonly change?: Change | undefined;
  readonly middle: Point;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Return the wires of a graph: quiet ones first, so that lit ones are drawn above them; of each, those in order above the others. */
export function drawWires(graph: Graph, plan: Plan, traces: readonly Trace[]): Wire[] {
  const ports = new Ports([...plan.boxes.values()].map(({ folded }) => folded));
  const wires = new Map<string, { wire: Wire; parts: Map<string, string> }>();
  const add = (source: Box, target: Box, ys: readonly [number, number], kind: Omit<Wire, "key" | "path" | "middle">) => {
    const key = `${pairKey(source, target)} ${kind.kind} ${kind.light} ${kind.failed} ${kind.unordered} ${kind.change}`;
    const known = wires.get(key);
    if (known?.parts.has(ys.join())) return;
    const line = lineOf(plan, source, target, ys);
    if (known) known.parts.set(ys.join(), line.path);
    else wires.set(key, { wire: { ...kind, key, path: "", middle: line.middle }, parts: new Map([[ys.join(), line.path]]) });
  };
  for (const link of graph.links) add(link.source.box, link.target.box, [ports.y(link.source), ports.y(link.target)], kindOf(link, traces));
  for (const { source, target } of graph.unknown)
    add(source, target, [HEADER / 2, HEADER / 2], { kind: "unknown", failed: false, unordered: false });
  return [...wires.values()]
    .map(({ wire, parts }) => ({ ...wire, path: [...parts.values()].join("") }))
    .sort((a, b) => rank(a) - rank(b));
}

function rank({ light, unordered }: Wire): number {
  return (light === undefined ? 0 : 2) + (unordered ? 0 : 1);
}

function kindOf(link: Link, traces: readonly Trace[]): Omit<Wire, "key" | "path" | "middle"> {
  const { failed, change } = link;
  return { kind: link.indirect ? "indirect" : "direct", failed, unordered: isUnordered(link), change, light: lightOfLink(link, traces) };
}

function lineOf(plan: Plan, source: Box, target: Box, ys: readonly [number, number]): { path: string; middle: Point } {
  const [from, to] = [plan.boxes.get(source.key)!, plan.boxes.get(target.key)!];
  const lanes = plan.lanes.get(pairKey(source, target)) ?? [];
  const start = { x: from.x + plan.boxWidth, y: from.y + ys[0] };
  const end = { x: to.x, y: to.y + ys[1] };
  let [path, at, heading] = [`M${start.x} ${start.y}`, start, 1];
  for (const { column, y, isBack } of lanes) {
    const [left, along] = [columnX(column, plan.boxWidth), isBack ? -1 : 1];
    const right = left + plan.boxWidth;
    path += `${curve(at, heading, { x: isBack ? right : left, y }, along)}H${isBack ? left : right}`;
    [at, heading] = [{ x: isBack ? left : right, y }, along];
  }
  const isStraight = lanes.length === 0;
  const middle = { x: (isStraight ? start.x + end.x : 2 * at.x - heading * plan.boxWidth) / 2, y: isStraight ? (start.y + end.y) / 2 : at.y };
  return { path: path + curve(at, heading, end, 1), middle };
}

/** Return a curve that leaves and arrives horizontally: headings are 1 to the right and -1 to the left. */
function curve(from: Point, leaving: number, to: Point, arriving: number): string {
  const isStraight = leaving === arriving && (to.x - from.x) * leaving > 0;
  const bend = isStraight ? Math.abs(to.x - from.x) / 2 : GAP_X * 0.4;
  return `C${from.x + leaving * bend} ${from.y} ${to.x - arriving * bend} ${to.y} ${to.x} ${to.y}`;
}
