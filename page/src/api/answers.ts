/** Types of answers in the words of the page: those of the API, which are generated, some under other names. */

import type { Operation, RunOfProgram } from "./types";

export type * from "./types";
export type {
  EndPoint as DatasetName,
  EndPointDetails as DatasetDetails,
  FieldLineage as FieldOperations,
  Node as OperationNode,
  Path as Way,
  ReachField as FieldName,
  Result as SearchHit,
  RunTold as RunDetails,
} from "./types";

export type OperationType = Operation["type"];
export type RunState = NonNullable<RunOfProgram["state"]>;
