import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { FieldName } from "../api/answers";
import { graphOfReach } from "./build";
import { compareGraphs, countChanges } from "./compare";
import { findField, type Graph } from "./model";
import { graphs } from "./samples";

const keys = ({ links }: Graph, change?: string) =>
  links
    .filter((link) => change === undefined || link.change === change)
    .map(({ source, target }) => [source.box.key, source.name, target.box.key, target.name].join())
    .sort();

test("what is gained and lost is the difference of the links, both ways", () => {
  fc.assert(
    fc.property(graphs, graphs, (before, after) => {
      const both = compareGraphs(before, after);
      const [old, now] = [new Set(keys(before)), new Set(keys(after))];
      expect(keys(both, "gained")).toEqual([...now].filter((key) => !old.has(key)));
      expect(keys(both, "lost")).toEqual([...old].filter((key) => !now.has(key)));
      expect(new Set(keys(both))).toEqual(new Set([...old, ...now]));
      expect(keys(compareGraphs(after, before), "lost")).toEqual(keys(both, "gained"));
    }),
  );
});

test("a graph compared with itself has no change", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      expect(countChanges(compareGraphs(graph, graph))).toEqual({ gained: 0, lost: 0 });
      expect(keys(compareGraphs(graph, graph))).toEqual(keys(graph));
    }),
  );
});

test("a link of both windows is in order if it was in one, and others keep what their window says", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ namespace: "n", name, field: "x" })) as [FieldName, FieldName, FieldName];
  const graphOf = (to: FieldName, inOrder: boolean) =>
    graphOfReach([{ nodes: [{ ...to, hops: 1, inOrder }], edges: [{ from: a, to, influence: "direct", inOrder }], truncated: false }]);
  const orderOf = (graph: Graph, to: FieldName) => [findField(graph, to, "x")!.inOrder, graph.links[0]!.inOrder];
  expect(orderOf(compareGraphs(graphOf(b, false), graphOf(b, true)), b)).toEqual([true, true]);
  expect(orderOf(compareGraphs(graphOf(b, false), graphOf(b, false)), b)).toEqual([false, false]);
  expect(compareGraphs(graphOf(b, false), graphOf(c, true)).links.map(({ change, inOrder }) => [change, inOrder])).toEqual([["lost", false], ["gained", true]]);
});
