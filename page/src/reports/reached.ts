/** The fields of a report: what they have of the field asked about, and the way to them. */
import type { DatasetName, FieldName } from "../answers";
import type { ReachedField } from "../detail-answers";

/** How many fields have a value of the field asked about, and how many it only shaped. */
export interface ReachedCounts {
  value: number;
  shaped: number;
}

/** Return the counts of fields; `*`, a dataset as a whole, is one that is only shaped. */
export function countReached(fields: readonly ReachedField[]): ReachedCounts {
  const value = fields.filter((field) => field.influence === "direct").length;
  return { value, shaped: fields.length - value };
}

/** Return a path so that the data flows from its first field to its last; answers begin at the field asked about. */
export function alongTheData(path: readonly FieldName[], report: "consumption" | "provenance"): FieldName[] {
  return report === "consumption" ? [...path] : [...path].reverse();
}

/** One step of a path: the dataset is undefined where it is that of the step before. */
export interface PathStep {
  field: string;
  dataset?: DatasetName;
}

/** Return the steps of a path, naming each dataset where it changes. */
export function pathSteps(path: readonly FieldName[]): PathStep[] {
  return path.map(({ namespace, name, field }, index) => {
    const before = path[index - 1];
    const isSame = before?.namespace === namespace && before.name === name;
    return isSame ? { field } : { field, dataset: { namespace, name } };
  });
}
