/** What a field is made of and what was made of it, by value, only shaped or not in order, within a graph. */

import { EVERY_ROW, isUnordered, type Field, type Link } from "./model";

export type Side = "into" | "out";

/** How a field is reached: by which link from which field; without a link, `*` leads to the fields of its dataset. */
export interface Step {
  readonly hops: number;
  readonly from: Field | undefined;
  readonly link: Link | undefined;
}

/** Fields reached on one side. `ordered` holds those that links in order lead to, `values` those that direct ones of these do. */
export interface Trace {
  readonly side: Side;
  readonly start: Field;
  /** Whether order counts: it is that of values from or to the field that the graph is about, and says nothing of others. */
  readonly isSubject: boolean;
  readonly all: ReadonlyMap<Field, Step>;
  readonly ordered: ReadonlyMap<Field, Step>;
  readonly values: ReadonlyMap<Field, Step>;
}

/** How a link or a field is lit: by value, only shaped, or `late`, where only links lead that are not in order. */
export type Light = "value" | "shape" | "late";

/** A field of a trace as it is listed. */
export interface Reached {
  readonly field: Field;
  readonly hops: number;
  readonly light: Light;
}

/** Follow links from a field; cycles end at fields reached before. */
export function trace(start: Field, side: Side, isSubject = true): Trace {
  const isOrdered = (link: Link) => !isSubject || !isUnordered(link);
  const all = walk(start, side, () => true);
  const isWhole = [...all.values()].every(({ link }) => !link || isOrdered(link));
  const ordered = isWhole ? all : walk(start, side, isOrdered);
  return { side, start, isSubject, all, ordered, values: walk(start, side, (link) => isOrdered(link) && !link.indirect, false) };
}

/** Follow some links; with `isShape` also from `*` to the fields of its dataset, or back. */
function walk(start: Field, side: Side, isFollowed: (link: Link) => boolean, isShape = true): Map<Field, Step> {
  const steps = new Map<Field, Step>([[start, { hops: 0, from: undefined, link: undefined }]]);
  for (let hops = 0, level = [start]; level.length > 0; hops++) {
    if (isShape) level = [...level, ...level.flatMap((field) => besides(field, side, steps, hops))];
    level = level.flatMap((field) => beyond(field, side, steps, isFollowed));
  }
  return steps;
}

/** Visit what stands with a field at the same number of hops: `*` stands before every field of its dataset. */
function besides(field: Field, side: Side, steps: Map<Field, Step>, hops: number): Field[] {
  if (side === "out" && field.name !== EVERY_ROW) return [];
  const others = side === "out" ? field.box.fields : field.box.fields.slice(0, 1).filter(({ name }) => name === EVERY_ROW);
  return others.filter((other) => visit(steps, other, { hops, from: field, link: undefined }));
}

function beyond(field: Field, side: Side, steps: Map<Field, Step>, isFollowed: (link: Link) => boolean): Field[] {
  const hops = (steps.get(field)?.hops ?? 0) + 1;
  return field[side].flatMap((link) => {
    const other = side === "out" ? link.target : link.source;
    const isNew = isFollowed(link) && visit(steps, other, { hops, from: field, link });
    return isNew ? [other] : [];
  });
}

function visit(steps: Map<Field, Step>, field: Field, step: Step): boolean {
  if (steps.has(field)) return false;
  steps.set(field, step);
  return true;
}

/** Return the reached fields by hops, without the start, and without those on which no link of the trace ends. */
export function reached(trace: Trace): Reached[] {
  const { side, start, all } = trace;
  const ends = ({ source, target }: Link) => (side === "out" ? source : target);
  const back = side === "out" ? "into" : "out";
  return [...all]
    .filter(([field]) => field !== start && field[back].some((link) => all.has(ends(link))))
    .map(([field, { hops }]) => ({ field, hops, light: lightIn(trace, field)! }))
    .sort((a, b) => a.hops - b.hops);
}

/** Return a shortest way from the start of a trace to a field, nearest first: by value or else in order if there is one. */
export function pathTo({ all, ordered, values }: Trace, field: Field): Step[] {
  const steps = [values, ordered].find((each) => each.has(field)) ?? all;
  const path: Step[] = [];
  for (let step = steps.get(field); step?.from; step = steps.get(step.from)) path.unshift(step);
  return path;
}

const LIGHTS: readonly Light[] = ["value", "shape", "late"];

function lightIn({ isSubject, all, ordered, values }: Trace, field: Field): Light | undefined {
  // `*` may stand beside a field in order without being so itself.
  if (isSubject && isUnordered(field)) return all.has(field) ? "late" : undefined;
  if (values.has(field)) return "value";
  return ordered.has(field) ? "shape" : all.has(field) ? "late" : undefined;
}

/** Return how a link is lit by the traces of what is selected: as its near end, and by value only if it is direct. */
export function lightOfLink(link: Link, traces: readonly Trace[]): Light | undefined {
  return brightest(traces.map((each) => {
    const near = lightIn(each, each.side === "out" ? link.source : link.target);
    if (near === undefined || near === "late" || (each.isSubject && isUnordered(link))) return near && "late";
    return link.indirect ? "shape" : near;
  }));
}

export function lightOfField(field: Field, traces: readonly Trace[]): Light | undefined {
  return brightest(traces.map((each) => lightIn(each, field)));
}

function brightest(lights: readonly (Light | undefined)[]): Light | undefined {
  return LIGHTS.find((light) => lights.includes(light));
}

/** Return every field that is lit. */
export function litFields(traces: readonly Trace[]): Set<Field> {
  return new Set(traces.flatMap(({ all }) => [...all.keys()]));
}
