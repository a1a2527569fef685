/** Shapes of answers about runs and programs. Times are in milliseconds since 1970. */

import type { Truncatable } from "./answers";

export type RunDirection = "backward" | "forward" | "both";
export type RunState = "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";

export interface ListedRun {
  run: string;
  namespace: string;
  application: string;
  version?: string;
  type: string;
  program: string;
  startTime: number;
  checksum: string;
  state?: RunState;
  parent?: string;
  lastEventTime?: number;
  /** Absent in lists of a namespace's runs. */
  direction?: RunDirection;
}

export interface Runs {
  runs: ListedRun[];
}

/** `start` is in epoch seconds. */
export interface RunBucket {
  start: number;
  complete: number;
  failed: number;
}

export interface RunCounts extends Truncatable {
  buckets: RunBucket[];
}

export interface Program {
  namespace: string;
  application: string;
  program: string;
  type: string;
  direction: RunDirection;
  runs: number;
  failed: number;
  firstStart: number;
  lastStart: number;
  lastRun: string;
}

export interface Programs extends Truncatable {
  programs: Program[];
}
