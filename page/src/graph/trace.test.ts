import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Reach } from "../api/answers";
import { graphOfReach } from "./build";
import { countText } from "./caption";
import { countGraph, findField, type Field, type Graph } from "./model";
import { graphs } from "./samples";
import { lightOfField, lightOfLink, litFields, pathTo, reached, trace } from "./trace";

const ref = (text: string) => ({ namespace: "n", name: text.split(".")[0]!, field: text.split(".")[1]! });

/** Build a graph from lines such as `a.x -> b.y`, `a.x ~> b.*` if indirect, and `a.x -> b.y late` if not in order. */
function graphOf(...lines: string[]): Graph {
  const edges = lines.map((line) => {
    const [from = "", arrow = "", to = "", late] = line.split(" ");
    const influence = arrow === "->" ? ("direct" as const) : ("indirect" as const);
    return { from: ref(from), to: ref(to), influence, inOrder: late === undefined };
  });
  return graphOfReach([{ nodes: [], edges, truncated: false }]);
}

const at = (graph: Graph, text: string): Field => findField(graph, ref(text), ref(text).field)!;

const listed = (graph: Graph, text: string, side: "into" | "out") =>
  reached(trace(at(graph, text), side)).map(
    ({ field, hops, light }) => `${hops} ${field.box.name}.${field.name} ${light}`,
  );

describe("reached", () => {
  test("lists fields by hops; behind an indirect link they are only shaped", () => {
    const graph = graphOf("a.x -> b.y", "b.y ~> c.z", "c.z -> d.w", "a.x ~> b.q");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.q shape", "1 b.y value", "2 c.z shape", "3 d.w shape"]);
    expect(listed(graph, "d.w", "into")).toEqual(["1 c.z value", "2 b.y shape", "3 a.x shape"]);
  });

  test("a value that arrives by a longer way counts as a value", () => {
    const graph = graphOf("a.x ~> c.z", "a.x -> b.y", "b.y -> c.z");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.y value", "1 c.z value"]);
  });

  test("what shapes every row shapes each field that leads on", () => {
    const graph = graphOf("a.x ~> b.*", "b.y -> c.z");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.* shape", "2 c.z shape"]);
    expect(listed(graph, "c.z", "into")).toEqual(["1 b.y value", "2 a.x shape"]);
  });

  test("what only links lead to that are not in order is apart", () => {
    const graph = graphOf("a.x -> b.y", "b.y -> c.z late", "c.z -> d.w late", "b.y ~> c.q");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.y value", "2 c.q shape", "2 c.z late", "3 d.w late"]);
    expect(listed(graph, "d.w", "into")).toEqual(["1 c.z late", "2 b.y late", "3 a.x late"]);
  });

  test("order counts for the field that the graph is about alone", () => {
    const graph = graphOf("a.x -> b.y", "b.y -> c.z late", "c.z ~> d.w late");
    const traces = [trace(at(graph, "b.y"), "out", false)];
    expect(reached(traces[0]!).map(({ field, light }) => `${field.box.name} ${light}`)).toEqual(["c value", "d shape"]);
    expect(graph.links.map((link) => lightOfLink(link, traces))).toEqual([undefined, "value", "shape"]);
  });

  test("one way in order is enough, even a longer one", () => {
    const graph = graphOf("a.x -> c.z late", "a.x -> b.y", "b.y -> c.z", "b.y ~> d.w", "a.x -> d.w late");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.y value", "1 c.z value", "1 d.w shape"]);
    const path = pathTo(trace(at(graph, "a.x"), "out"), at(graph, "c.z"));
    expect(path.map(({ link }) => link?.target.box.name)).toEqual(["b", "c"]);
  });

  test("cycles, self-loops and diamonds end", () => {
    const graph = graphOf("a.x -> a.x", "a.x -> b.y", "b.y -> a.x", "a.x -> c.z", "b.y -> d.w", "c.z -> d.w");
    expect(listed(graph, "a.x", "out")).toEqual(["1 b.y value", "1 c.z value", "2 d.w value"]);
  });

  test("a chain of 20,000 fields needs no recursion", () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `d${index}.x -> d${index + 1}.x`);
    expect(reached(trace(at(graphOf(...lines), "d0.x"), "out"))).toHaveLength(20_000);
  });
});

test("the path that explains a value is direct, even if a shorter one is not", () => {
  const graph = graphOf("a.x ~> c.z", "a.x -> b.y", "b.y -> c.z");
  const path = pathTo(trace(at(graph, "a.x"), "out"), at(graph, "c.z"));
  expect(path.map(({ link }) => link?.target.box.name)).toEqual(["b", "c"]);
});

test("forward is the inverse of backward", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const fields = graph.boxes.flatMap((box) => box.fields);
      // As of a walk from elsewhere, whose order follows no path of this graph.
      graph.links.forEach((link, index) => (link.inOrder = index % 3 !== 0));
      const pairs = (side: "into" | "out", key: "all" | "ordered" | "values") =>
        fields.flatMap((field) => {
          const ends = [...trace(field, side)[key].keys()].map((other) => fields.indexOf(other));
          return ends.map((end) => (side === "out" ? [fields.indexOf(field), end] : [end, fields.indexOf(field)]).join());
        });
      expect(pairs("into", "values").sort()).toEqual(pairs("out", "values").sort());
      expect(pairs("into", "ordered").sort()).toEqual(pairs("out", "ordered").sort());
      expect(pairs("into", "all").sort()).toEqual(pairs("out", "all").sort());
    }),
    { numRuns: 40 },
  );
});

test("links are lit where both ends are", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      for (const start of graph.boxes.flatMap((box) => box.fields).slice(0, 5)) {
        const traces = [trace(start, "into"), trace(start, "out")];
        const lit = litFields(traces);
        for (const link of graph.links)
          if (lightOfLink(link, traces)) expect(lit.has(link.source) && lit.has(link.target)).toBe(true);
      }
    }),
  );
});

test("a link is lit by its order and that of the way to it", () => {
  const graph = graphOf("a.x -> b.y late", "b.y -> c.z", "a.x -> d.w", "d.w ~> e.v");
  const traces = [trace(at(graph, "a.x"), "out")];
  const lights = graph.links.map((link) => `${link.target.box.name} ${lightOfLink(link, traces)}`);
  expect(lights.sort()).toEqual(["b late", "c late", "d value", "e shape"]);
  expect(graph.boxes.flatMap((box) => box.fields).map((field) => lightOfField(field, traces))).toEqual(["value", "late", "late", "value", "shape"]);
});

test("both directions of an answer are one graph, and what is known of an edge stays", () => {
  const edge = { from: ref("a.x"), to: ref("b.y"), influence: "direct" as const, runs: 3, lastRun: "r" };
  const nodes = [{ ...ref("b.y"), hops: 0, dropped: true }];
  const answer: Reach = { nodes, edges: [edge], truncated: false, unknown: [{ source: ref("a.x"), destination: ref("b.y") }] };
  const graph = graphOfReach([answer, { ...answer, nodes: [] }]);
  expect(graph.links).toHaveLength(1);
  expect(graph.links[0]).toMatchObject({ runs: 3, lastRun: "r", failed: false, indirect: false });
  expect(graph.unknown).toHaveLength(1);
  expect(at(graph, "b.y").dropped).toBe(true);
});

describe("order of both directions", () => {
  const [a, b] = [ref("a.x"), ref("b.y")];
  const answer = (inOrder?: boolean): Reach => {
    const order = inOrder === undefined ? {} : { inOrder };
    return { nodes: [{ ...b, hops: 1, ...order }], edges: [{ from: a, to: b, influence: "direct", ...order }], truncated: false };
  };

  test.each([
    [[true, false], true],
    [[false, true], true],
    [[false, false], false],
    [[undefined, true], true],
    [[false, undefined], undefined],
    [[false], false],
  ])("%j is %j", (given, expected) => {
    const graph = graphOfReach(given.map(answer));
    expect([graph.links[0]!.inOrder, at(graph, "b.y").inOrder]).toEqual([expected, expected]);
    expect(countGraph(graph)).toMatchObject({ pairs: 1, unordered: expected === false ? 1 : 0 });
  });
});

test("the counts in words name pairs that are not in order, if there are any", () => {
  expect(countText(countGraph(graphOf("a.x -> b.y")))).toBe("2 datasets, 2 fields, 1 pair");
  expect(countText(countGraph(graphOf("a.x -> b.y", "b.y -> c.z late")))).toBe("3 datasets, 3 fields, 2 pairs, 1 of them not in order");
});
