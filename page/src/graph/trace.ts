/** What a field is made of and what was made of it, by value or only shaped, within a graph. */

import { EVERY_ROW, type Field, type Link } from "./model";

export type Side = "into" | "out";

/** How a field is reached: by which link from which field; without a link, `*` leads to the fields of its dataset. */
export interface Step {
  readonly hops: number;
  readonly from: Field | undefined;
  readonly link: Link | undefined;
}

/** Fields reached on one side. `values` holds those that direct links alone lead to. */
export interface Trace {
  readonly side: Side;
  readonly start: Field;
  readonly all: ReadonlyMap<Field, Step>;
  readonly values: ReadonlyMap<Field, Step>;
}

/** A field of a trace as it is listed: it holds the value, or was only shaped by it. */
export interface Reached {
  readonly field: Field;
  readonly hops: number;
  readonly value: boolean;
}

/** Follow links from a field; cycles end at fields reached before. */
export function trace(start: Field, side: Side): Trace {
  return { side, start, all: walk(start, side, true), values: walk(start, side, false) };
}

function walk(start: Field, side: Side, isIndirect: boolean): Map<Field, Step> {
  const steps = new Map<Field, Step>([[start, { hops: 0, from: undefined, link: undefined }]]);
  for (let hops = 0, level = [start]; level.length > 0; hops++) {
    if (isIndirect) level = [...level, ...level.flatMap((field) => besides(field, side, steps, hops))];
    level = level.flatMap((field) => beyond(field, side, steps, isIndirect));
  }
  return steps;
}

/** Visit what stands with a field at the same number of hops: `*` stands before every field of its dataset. */
function besides(field: Field, side: Side, steps: Map<Field, Step>, hops: number): Field[] {
  if (side === "out" && field.name !== EVERY_ROW) return [];
  const others = side === "out" ? field.box.fields : field.box.fields.slice(0, 1).filter(({ name }) => name === EVERY_ROW);
  return others.filter((other) => visit(steps, other, { hops, from: field, link: undefined }));
}

function beyond(field: Field, side: Side, steps: Map<Field, Step>, isIndirect: boolean): Field[] {
  const hops = (steps.get(field)?.hops ?? 0) + 1;
  return field[side].flatMap((link) => {
    const other = side === "out" ? link.target : link.source;
    const isNew = (isIndirect || !link.indirect) && visit(steps, other, { hops, from: field, link });
    return isNew ? [other] : [];
  });
}

function visit(steps: Map<Field, Step>, field: Field, step: Step): boolean {
  if (steps.has(field)) return false;
  steps.set(field, step);
  return true;
}

/** Return the reached fields by hops, without the start, and without those on which no link of the trace ends. */
export function reached({ side, start, all, values }: Trace): Reached[] {
  const ends = ({ source, target }: Link) => (side === "out" ? source : target);
  const back = side === "out" ? "into" : "out";
  return [...all]
    .filter(([field]) => field !== start && field[back].some((link) => all.has(ends(link))))
    .map(([field, { hops }]) => ({ field, hops, value: values.has(field) }))
    .sort((a, b) => a.hops - b.hops);
}

/** Return a shortest way from the start of a trace to a field, nearest first: by value if there is one. */
export function pathTo({ all, values }: Trace, field: Field): Step[] {
  const steps = values.has(field) ? values : all;
  const path: Step[] = [];
  for (let step = steps.get(field); step?.from; step = steps.get(step.from)) path.unshift(step);
  return path;
}

/** How a link or a field is lit by the traces of what is selected. */
export type Light = "value" | "shape";

/** Return how a link is lit: by value if it is direct and its near end holds the value. */
export function lightOfLink(link: Link, traces: readonly Trace[]): Light | undefined {
  const near = ({ side }: Trace) => (side === "out" ? link.source : link.target);
  const lit = traces.filter((each) => each.all.has(near(each)));
  if (lit.length === 0) return undefined;
  return !link.indirect && lit.some((each) => each.values.has(near(each))) ? "value" : "shape";
}

export function lightOfField(field: Field, traces: readonly Trace[]): Light | undefined {
  if (traces.some(({ values }) => values.has(field))) return "value";
  return traces.some(({ all }) => all.has(field)) ? "shape" : undefined;
}

/** Return every field that is lit. */
export function litFields(traces: readonly Trace[]): Set<Field> {
  return new Set(traces.flatMap(({ all }) => [...all.keys()]));
}
