/** Ask for a graph: the reach of a field, both ways if need be, or the pairs of a dataset. */

import { useMemo, useRef } from "preact/hooks";
import type { Entry, Reach } from "../api/answers";
import type { Answer, ApiProblem, Offline } from "../api/client";
import { paths } from "../api/paths";
import { useAnswer, type AnswerState } from "../queries/use-answer";
import type { PageState, WindowText } from "../state/page-state";
import { graphOfEntries, graphOfReach } from "./build";
import type { Graph } from "./model";

export interface GraphState {
  /** The graph of the last complete answer; `isStale` while the next one is under way. */
  readonly graph: Graph | undefined;
  readonly answers: readonly Answer<unknown>[];
  readonly isStale: boolean;
  readonly pending: boolean;
  readonly problem: ApiProblem | Offline | undefined;
  readonly retryIn: number | undefined;
  readonly retry: () => void;
}

/** Ask for the graph of a state in a window; null asks nothing. */
export function useGraph(state: PageState, window: WindowText | null, level: number): GraphState {
  const { field, direction = "both" } = state;
  const lineage = useAnswer(field === undefined ? lineageRequest(state, window, level) : null);
  const backward = useAnswer(direction === "forward" ? null : reachRequest(state, window, level, "backward"));
  const forward = useAnswer(direction === "backward" ? null : reachRequest(state, window, level, "forward"));
  const asked: AnswerState<unknown>[] = field === undefined ? [lineage] : [
    ...(direction === "forward" ? [] : [backward]),
    ...(direction === "backward" ? [] : [forward]),
  ];
  const isReady = asked.every(({ answer, isStale }) => answer && !isStale);
  const bodies = asked.map(({ answer }) => answer?.body);
  const built = useMemo(() => {
    if (!isReady || window === null) return undefined;
    const graph = field === undefined ? graphOfEntries(bodies[0] as Entry[]) : graphOfReach(bodies as Reach[]);
    return { graph, answers: asked.flatMap(({ answer }) => (answer ? [answer] : [])) };
  }, [isReady, field === undefined, ...[bodies[0], bodies[1]]]);
  const last = useRef(built);
  if (built) last.current = built;
  const failed = asked.find(({ problem }) => problem);
  return {
    graph: last.current?.graph,
    answers: last.current?.answers ?? [],
    isStale: !isReady,
    pending: asked.some(({ pending }) => pending),
    problem: failed?.problem,
    retryIn: failed?.retryIn,
    retry: () => asked.filter(({ problem }) => problem).forEach(({ retry }) => retry()),
  };
}

function lineageRequest(state: PageState, window: WindowText | null, level: number) {
  const { ns, name, direction = "both", indirect, failed } = state;
  if (ns === undefined || name === undefined || window === null) return null;
  return { path: paths.lineage(ns, name), params: { ...timesOf(window), level, direction, indirect, failed } };
}

function reachRequest(state: PageState, window: WindowText | null, level: number, direction: "backward" | "forward") {
  const { ns, name, field, indirect, failed, causal } = state;
  if (ns === undefined || name === undefined || field === undefined || window === null) return null;
  return { path: paths.reach(ns, name, field), params: { ...timesOf(window), level, direction, indirect, failed, causal } };
}

function timesOf({ start, end }: WindowText): WindowText {
  return { start, end };
}
