/** The lineage graph: datasets, their fields, and the links between fields, from source to destination. */

import type { DatasetName } from "../api/answers";
import { HIDDEN_FIELD } from "../api/hidden-names";
import type { FieldRef } from "../state/page-state";

/** Stands for every row of a dataset: what leads here decides which rows there are. */
export const EVERY_ROW = "*";

export type Change = "gained" | "lost";

export interface Field {
  readonly box: Box;
  readonly name: string;
  readonly into: Link[];
  readonly out: Link[];
  /** Some run made it without a source field. */
  generated?: boolean;
  /** Some run gave it to a transform without outputs. */
  dropped?: boolean;
  /** Whether the order of the runs allows it on the way from or to the field of the graph; left out if not known. */
  inOrder?: boolean | undefined;
}

/** A dataset. `key` is unique in its graph, and made of the namespace and the name. */
export interface Box {
  readonly key: string;
  /** Its place in the order of the graph. */
  index: number;
  readonly namespace: string;
  readonly name: string;
  readonly fields: Field[];
}

export interface Link {
  readonly source: Field;
  readonly target: Field;
  indirect: boolean;
  /** Only failed or aborted runs have it. */
  failed: boolean;
  /** As that of a field. */
  inOrder?: boolean | undefined;
  readonly runs?: number;
  readonly lastStart?: number;
  readonly lastRun?: string;
  readonly lastRunNamespace?: string;
  change?: Change;
}

/** Two datasets that some run read and wrote, where it is not known how their fields relate. */
export interface Relation {
  readonly source: Box;
  readonly target: Box;
}

export interface Graph {
  readonly boxes: readonly Box[];
  readonly links: readonly Link[];
  readonly unknown: readonly Relation[];
}

export interface GraphCounts {
  readonly datasets: number;
  readonly fields: number;
  readonly pairs: number;
  /** Pairs that are not in order. */
  readonly unordered: number;
}

/** Return how many datasets, fields and pairs of fields a graph has. */
export function countGraph({ boxes, links }: Graph): GraphCounts {
  const fields = boxes.reduce((sum, box) => sum + box.fields.length, 0);
  return { datasets: boxes.length, fields, pairs: links.length, unordered: links.filter(isUnordered).length };
}

/** Return whether a field or link is known not to be in order. */
export function isUnordered({ inOrder }: Field | Link): boolean {
  return inOrder === false;
}

/** Merge what two answers say of a field or link: one that allows it is enough. */
export function mergeOrder(one: boolean | undefined, other: boolean | undefined): boolean | undefined {
  return one || other ? true : one === undefined || other === undefined ? undefined : false;
}

/** Return a field by its names, if the graph has it. */
export function findField(graph: Graph, dataset: DatasetName, name: string | undefined): Field | undefined {
  const key = keyOf(dataset);
  return graph.boxes.find((box) => box.key === key)?.fields.find((field) => field.name === name);
}

/** Return how a field is shown: `*`, and those of a hidden dataset, as words. */
export function labelOf(field: Field): string {
  if (field.name === HIDDEN_FIELD) return "hidden fields";
  return field.name === EVERY_ROW ? "every row" : field.name;
}

/** Return a key that no other dataset has: namespaces and names may hold any character. */
export function keyOf({ namespace, name }: DatasetName): string {
  return JSON.stringify([namespace, name]);
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Return the names of a field as the address has them. */
export function refOf({ box, name }: Field): FieldRef {
  return { ns: box.namespace, name: box.name, field: name };
}
