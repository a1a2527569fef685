/** Two graphs as one: what the later has and the earlier has not is gained, the other way round it is lost. */

import { GraphBuilder } from "./build";
import type { Change, Field, Graph, Link } from "./model";

/** Return all links of both graphs, those of only one of them marked. Facts come from the later graph if it has the link. */
export function compareGraphs(before: Graph, after: Graph): Graph {
  const builder = new GraphBuilder();
  const seen = new Map<Link, Set<Change>>();
  const add = (graph: Graph, side: Change) => {
    for (const box of graph.boxes) for (const field of box.fields) copyField(builder, field);
    for (const link of graph.links) {
      const { runs, lastStart, lastRun, lastRunNamespace, failed, inOrder, indirect } = link;
      const facts = { influence: indirect ? "indirect" : "direct", failed, inOrder, runs, lastStart, lastRun, lastRunNamespace };
      const copy = builder.link(copyField(builder, link.source), copyField(builder, link.target), facts);
      seen.set(copy, (seen.get(copy) ?? new Set()).add(side));
    }
    for (const { source, target } of graph.unknown) builder.relate(source, target);
  };
  add(after, "gained");
  add(before, "lost");
  for (const [link, sides] of seen) if (sides.size === 1) link.change = [...sides][0]!;
  return builder.build();
}

function copyField(builder: GraphBuilder, { box, name, generated, dropped, inOrder }: Field): Field {
  const copy = builder.orderedField(box, name, inOrder);
  if (generated) copy.generated = true;
  if (dropped) copy.dropped = true;
  return copy;
}

/** Return how many links were gained and lost. */
export function countChanges({ links }: Graph): { gained: number; lost: number } {
  const count = (change: Change) => links.filter((link) => link.change === change).length;
  return { gained: count("gained"), lost: count("lost") };
}
