/** What is computed of a graph while it is looked at: traces of the selection, folding, places and wires. */

import { useMemo, useRef } from "preact/hooks";
import { fold, type FoldedBox, type Unfolded } from "./fold";
import type { Row } from "./keys";
import type { Graph } from "./model";
import { planGraph, type Plan } from "./scene";
import { litFields, trace, type Side, type Trace } from "./trace";
import { drawWires, type Wire } from "./wires";

export interface Picture {
  readonly traces: readonly Trace[];
  readonly plan: Plan;
  readonly wires: readonly Wire[];
}

interface Looked {
  readonly selected: Row | undefined;
  /** Whether the selected field is the one that the graph is about. */
  readonly isSubject: boolean;
  readonly sides: readonly Side[];
  readonly open: readonly string[];
}

/** Compute each part again only if what it depends on has changed: most selections leave all boxes where they are. */
export function usePicture(graph: Graph, { selected, isSubject, sides, open }: Looked): Picture {
  const field = selected?.field;
  const traces = useMemo(() => (field ? sides.map((side) => trace(field, side, isSubject)) : []), [graph, field, isSubject, sides.join()]);
  const before = useRef<readonly FoldedBox[]>([]);
  const folded = useMemo(() => fold(graph, { lit: litFields(traces), first: field, unfolded: clicks(open) }), [graph, traces, open.join()]);
  // The same objects for boxes that show the same, so that they are not rendered again.
  before.current = folded.map((each, index) => (isSame(before.current[index], each) ? before.current[index]! : each));
  const shown = before.current;
  const plan = useMemo(() => planGraph(graph, shown), [graph, shown.map(({ key }) => key).join()]);
  const wires = useMemo(() => drawWires(graph, plan, traces), [graph, plan, traces]);
  return { traces, plan, wires };
}

function isSame(before: FoldedBox | undefined, after: FoldedBox): boolean {
  return before?.box === after.box && before.key === after.key;
}

function clicks(open: readonly string[]): Unfolded {
  const counts = new Map<string, number>();
  for (const key of open) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
