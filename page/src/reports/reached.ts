/** The fields of a report: what they have of the field asked about, and the way to them. */
import type { FieldName, ReachedField } from "../api/answers";
import { count } from "../browser/numbers";

/** How many fields have a value of the field asked about, and how many it only shaped; those in order alone. */
export interface ReachedCounts {
  value: number;
  shaped: number;
}

/** Return the fields that the order of the runs allows, and the others. */
export function splitByOrder(fields: readonly ReachedField[]): { ordered: ReachedField[]; unordered: ReachedField[] } {
  const isUnordered = ({ inOrder }: ReachedField) => inOrder === false;
  return { ordered: fields.filter((field) => !isUnordered(field)), unordered: fields.filter(isUnordered) };
}

/** Return the counts of fields; `*`, a dataset as a whole, is one that is only shaped. */
export function countReached(fields: readonly ReachedField[]): ReachedCounts {
  const { ordered } = splitByOrder(fields);
  const value = ordered.filter((field) => field.influence === "direct").length;
  return { value, shaped: ordered.length - value };
}

/** Return a sentence that says how many fields are not in order; nothing if all are. */
export function orderSentence(fields: readonly ReachedField[]): string {
  const { length } = splitByOrder(fields).unordered;
  return length === 0 ? "" : ` ${count(length, "more field")} ${length === 1 ? "is" : "are"} not in the order of the runs.`;
}

/** Return a path so that the data flows from its first field to its last; answers begin at the field asked about. */
export function alongTheData(path: readonly FieldName[], report: "consumption" | "provenance"): FieldName[] {
  return report === "consumption" ? [...path] : [...path].reverse();
}
