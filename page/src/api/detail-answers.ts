/** Shapes of answers about one field, one run, reports and tags. Times are in milliseconds since 1970. */

import type { DatasetName, FieldName, Influence, ListedRun, Program, Truncatable, UnknownRelation } from "./answers";

export type * from "./recorded-answers";

export type OperationType = "READ" | "TRANSFORM" | "WRITE";

export interface OperationNode {
  id: string;
  label: string;
  /** The name of the operation that made it. */
  origin: string;
  type?: string;
  failed?: boolean;
  sourceEndPoint?: DatasetName;
  destinationEndPoint?: DatasetName;
  destinationEndPoints?: DatasetName[];
}

export interface Operation {
  name: string;
  description: string;
  type: OperationType;
  endPoint?: DatasetName;
  failed?: boolean;
}

export interface Connection {
  from: string;
  to: string;
  operation: string;
  /** Of the simple view: all transforms on the way, in an order that could have run. */
  operations?: string[];
  influence?: Influence;
  failed?: boolean;
}

export interface FieldOperations extends Truncatable {
  nodes: OperationNode[];
  operations: Operation[];
  connections: Connection[];
  checksums: string[];
}

export interface Step {
  inputs: string[];
  outputs: string[];
  name: string;
  description: string;
}

export interface Way {
  operations: Step[];
  /** The ids of the newest runs, newest first. */
  runs: string[];
  runCount: number;
}

export interface FieldWays extends Partial<Truncatable> {
  fieldName: string;
  startTimeInSeconds: number;
  endTimeInSeconds: number;
  paths: Way[];
}

export interface Stretch {
  checksum: string;
  firstRun: string;
  lastRun: string;
  firstStart: number;
  lastStart: number;
  runs: number;
  missing: number;
  missingAfter: number;
}

export interface History extends Truncatable {
  stretches: Stretch[];
  missingBefore: number;
}

export interface DerivationParts {
  operations: Operation[];
  edges: Connection[];
  sources: FieldName[];
}

export interface Diff extends Truncatable {
  gained: DerivationParts;
  lost: DerivationParts;
  kept: number;
  omitted?: ("gained" | "lost")[];
}

export interface ReachedField extends FieldName {
  hops: number;
  influence: Influence;
  runs?: number;
  firstStart?: number;
  lastStart?: number;
  lastRun?: string;
  failed?: boolean;
  dropped?: boolean;
  /** The order of the runs does not allow it; only in reports that are not causal. */
  inOrder?: false;
  path: FieldName[];
}

export interface Consumption extends Truncatable {
  report: "consumption";
  field: FieldName;
  unknown?: UnknownRelation[];
  runs: ListedRun[];
  moreRuns: boolean;
  programs?: Program[];
  derived?: ReachedField[];
  dropped?: boolean;
}
