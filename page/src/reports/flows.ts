/** Flow policies and the flows that violate them. */
import type { Flows, FlowStep, Policy, Violation } from "../api/answers";
import { GraphBuilder } from "../graph/build";
import type { Graph } from "../graph/model";

/** The kind of a flow; `unknown` if the kind of some hop is not known. */
export type FlowKind = "copied" | "computed" | "masked" | "influence" | "unknown";

/** Return whether a policy is about where data goes; the others are about its age. */
export function isFlowPolicy({ maxAge }: Policy): boolean {
  return maxAge === undefined;
}

/** Return how data comes along a path: one hop that masks it, or by which it only decides rows, is enough. */
export function kindOfPath(path: readonly FlowStep[]): FlowKind {
  const kinds = path.slice(1).map(({ kind }) => kind || "unknown");
  if (kinds.includes("influence")) return "influence";
  if (kinds.includes("masked")) return "masked";
  if (kinds.includes("unknown")) return "unknown";
  return kinds.every((kind) => kind === "copied") ? "copied" : "computed";
}

/** The runs of a flow over all of its programs; times in milliseconds since 1970. */
export interface FlowRuns {
  runs: number;
  first: number;
  last: number;
  /** Whether the last run of some program still made the flow. */
  isCurrent: boolean;
}

/** Return the runs of a flow, undefined where no program of it is known. */
export function runsOfFlow({ programs }: Pick<Violation, "programs">): FlowRuns | undefined {
  if (programs.length === 0) return undefined;
  return {
    runs: programs.reduce((sum, { runs }) => sum + runs, 0),
    first: Math.min(...programs.map(({ firstStart }) => firstStart)),
    last: Math.max(...programs.map(({ lastStart }) => lastStart)),
    isCurrent: programs.some(({ current }) => current),
  };
}

/** Return the graph of the paths of flows; a hop that two of them share is one link. */
export function graphOfFlows(violations: readonly Pick<Violation, "path">[]): Graph {
  const builder = new GraphBuilder();
  for (const { path } of violations)
    path.forEach((step, index) => {
      const field = builder.field(step, step.field);
      const before = path[index - 1];
      if (before) builder.link(builder.field(before, before.field), field, { influence: step.kind === "influence" ? "indirect" : "direct" });
    });
  return builder.build();
}

/** The result of a flow report: `unknown` if it found no violation but is not complete. */
export type Outcome = "violated" | "unknown" | "kept";

export function outcomeOf({ violations, truncated, unknown }: Pick<Flows, "violations" | "truncated" | "unknown">): Outcome {
  if (violations.length > 0) return "violated";
  return truncated || unknown.length > 0 ? "unknown" : "kept";
}
