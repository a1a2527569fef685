/** What stands beside a dataset: the datasets that it comes from, or that were made from it. */

import type { DatasetName, Entry, Pair } from "../api/answers";

export interface Related {
  /** Null for what no dataset is on the other side of: generated or dropped fields. */
  dataset: DatasetName | null;
  pairs: Pair[];
  /** A run is known to relate the two, but not how their fields do. */
  isUnknown: boolean;
}

/** Return the neighbours of a dataset in one direction; of a field only the pairs that concern it. */
export function relatedDatasets(lineage: Entry[], direction: "backward" | "forward", field?: string): Related[] {
  const isBackward = direction === "backward";
  return lineage
    .filter((entry) => entry.direction === direction && entry.level === 1)
    .map((entry) => ({
      dataset: isBackward ? entry.source : entry.destination,
      pairs: entry.fieldmap.filter((pair) => field === undefined || concerns(isBackward ? pair.to : pair.from, field)),
      isUnknown: entry.unknown === true,
    }))
    .filter(({ pairs, isUnknown }) => pairs.length > 0 || isUnknown);
}

/** An influence on every row of a dataset concerns each of its fields. */
function concerns(end: string | null, field: string): boolean {
  return end === field || end === "*";
}
