/** What was made from tagged fields for the first time. */
import type { FieldName, ReachEdge } from "../api/answers";

/** A tagged field, and the edges downstream of it in a window, with their runs. */
export interface Downstream {
  tag: string;
  field: FieldName;
  edges: readonly ReachEdge[];
}

/** An edge whose first run in the window is new; `tags` and `tagged` are upstream of it. */
export interface Derivation {
  edge: ReachEdge;
  tags: readonly string[];
  tagged: readonly FieldName[];
}

/** Return each edge whose first run started at `since` (seconds) or later, once, with the newest first. */
export function newDerivations(downstream: readonly Downstream[], since: number): Derivation[] {
  const found = new Map<string, { edge: ReachEdge; tags: Set<string>; tagged: Map<string, FieldName> }>();
  for (const { tag, field, edges } of downstream) {
    for (const edge of edges) {
      // A value cannot pass an edge against the order of the runs.
      if (edge.inOrder === false || (edge.firstStart ?? 0) < since * 1000) continue;
      const key = JSON.stringify([edge.from, edge.to, edge.influence]);
      const same = found.get(key) ?? { edge, tags: new Set(), tagged: new Map() };
      same.tags.add(tag);
      same.tagged.set(JSON.stringify(field), field);
      found.set(key, same);
    }
  }
  return [...found.values()]
    .map(({ edge, tags, tagged }) => ({ edge, tags: [...tags], tagged: [...tagged.values()] }))
    .sort((one, other) => (other.edge.firstStart ?? 0) - (one.edge.firstStart ?? 0));
}
