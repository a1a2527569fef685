/** Types of answers in the words of the page: those of the API, which are generated, some under other names. */

import type { Operation, Pair, Program, RunOfProgram } from "./types";

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

export type Influence = NonNullable<Pair["influence"]>;
export type OperationType = Operation["type"];
export type RunDirection = Program["direction"];
export type RunState = NonNullable<RunOfProgram["state"]>;
