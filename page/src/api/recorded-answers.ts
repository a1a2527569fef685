/** Shapes of answers about one recorded run. Times are in milliseconds since 1970. */

import type { DatasetName, Influence, ListedRun, RunDirection, RunState } from "./answers";
import type { OperationType } from "./detail-answers";

/** An operation as it was recorded. */
export interface RecordedOperation {
  name: string;
  description?: string;
  type: OperationType;
  source?: DatasetName & { description?: string };
  destination?: DatasetName & { description?: string };
  inputs?: { origin: string; name: string; influence?: Influence; kind?: string }[];
  outputs?: (string | { name: string; type?: string })[];
}

export interface JobReference {
  namespace: string;
  name: string;
  run: string;
}

export interface RunDetails extends Omit<ListedRun, "direction"> {
  state?: RunState;
  endpoints: (DatasetName & { direction: RunDirection })[];
  operations: RecordedOperation[];
  parentJob?: JobReference;
  root?: JobReference;
  nominalStartTime?: string;
  nominalEndTime?: string;
  errorMessage?: string;
  sql?: string;
  physicalNames?: (DatasetName & { physicalName: string })[];
  events?: { eventTime: number; eventType: string }[];
}
