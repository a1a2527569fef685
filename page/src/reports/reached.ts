/** The fields of a report: what they have of the field asked about, and the way to them. */
import type { FieldName, ReachedField } from "../api/answers";

/** Return the fields that the order of the runs allows, and the others. */
export function splitByOrder(fields: readonly ReachedField[]): { ordered: ReachedField[]; unordered: ReachedField[] } {
  const isUnordered = ({ inOrder }: ReachedField) => inOrder === false;
  return { ordered: fields.filter((field) => !isUnordered(field)), unordered: fields.filter(isUnordered) };
}

/** Return a path so that the data flows from its first field to its last; answers begin at the field asked about. */
export function alongTheData(path: readonly FieldName[], report: "consumption" | "provenance"): FieldName[] {
  return report === "consumption" ? [...path] : [...path].reverse();
}
