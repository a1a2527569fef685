import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { graphOfEntries } from "./build";
import { fold } from "./fold";
import { layoutBoxes } from "./layout";
import { type Graph } from "./model";
import { backEdges, rankNodes } from "./ranks";
import { graphs, syntheticEntries } from "./samples";
import { planGraph, type PlacedBox, type Plan } from "./scene";
import { drawWires } from "./wires";

const numbers = /-?[\d.]+(?:e-?\d+)?/g;

function overlaps(a: PlacedBox, b: PlacedBox, width: number): boolean {
  return Math.abs(a.x - b.x) < width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function overlapping(plan: Plan): number {
  const boxes = [...plan.boxes.values()].sort((a, b) => a.x - b.x || a.y - b.y);
  return boxes.filter((box, index) => index > 0 && overlaps(boxes[index - 1]!, box, plan.boxWidth)).length;
}

function planOf(graph: Graph): Plan {
  return planGraph(graph, fold(graph));
}

function points(path: string): { start: number[]; end: number[]; all: number[] }[] {
  return path.split("M").slice(1).map((part) => {
    const all = (part.match(numbers) ?? []).map(Number);
    return { start: all.slice(0, 2), end: all.slice(-2), all };
  });
}

describe("any graph", () => {
  test("boxes do not overlap and lie inside the picture", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const plan = planOf(graph);
        expect(overlapping(plan)).toBe(0);
        for (const { x, y, height } of plan.boxes.values()) {
          expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
          expect(x + plan.boxWidth).toBeLessThanOrEqual(plan.width);
          expect(y + height).toBeLessThanOrEqual(plan.height);
        }
      }),
    );
  });

  test("links begin at the right edge of a box, end at the left edge of a box, and lie inside the picture", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const plan = planOf(graph);
        const boxes = [...plan.boxes.values()];
        const isPort = ([x, y]: number[], edge: number) =>
          boxes.some((box) => box.x + edge === x && box.y < y! && y! < box.y + box.height);
        for (const wire of drawWires(graph, plan, []))
          for (const { start, end, all } of points(wire.path)) {
            expect(isPort(start, plan.boxWidth)).toBe(true);
            expect(isPort(end, 0)).toBe(true);
            expect(all.every((number) => number >= 0 && number <= Math.max(plan.width, plan.height))).toBe(true);
          }
      }),
    );
  });

  test("the same answer in another order has the same picture", () => {
    const shuffled = fc.tuple(fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 40 }), fc.infiniteStream(fc.nat()));
    fc.assert(
      fc.property(shuffled, ([pairs, stream]) => {
        const entries = syntheticEntries(12, 30).concat(
          pairs.map(([from, to]) => ({
            source: { namespace: "n", name: `${from}` },
            destination: { namespace: "n", name: `${to}` },
            fieldmap: [{ from: "a", to: "b" }],
            level: 1,
            direction: "forward" as const,
          })),
        );
        const order = entries.map((entry) => ({ entry, at: stream.next().value! })).sort((a, b) => a.at - b.at);
        const [one, other] = [graphOfEntries(entries), graphOfEntries(order.map(({ entry }) => entry))];
        const drawing = (graph: Graph) => drawWires(graph, planOf(graph), []);
        expect(drawing(other)).toEqual(drawing(one));
      }),
      { numRuns: 30 },
    );
  });

  test("without back edges there is no cycle: each link leads to a column further right", () => {
    const edges = fc.array(fc.record({ from: fc.nat(9), to: fc.nat(9) }), { maxLength: 40 });
    fc.assert(
      fc.property(edges, (all) => {
        const [back, ranks] = [backEdges(10, all), rankNodes(10, all)];
        for (const edge of all) if (!back.has(edge)) expect(ranks[edge.to]).toBeGreaterThan(ranks[edge.from]!);
      }),
    );
  });
});

describe.each([
  { datasets: 50, pairs: 1000 },
  { datasets: 300, pairs: 5000 },
])("$datasets datasets with 20 fields and $pairs pairs", ({ datasets, pairs }) => {
  const graph = graphOfEntries(syntheticEntries(datasets, pairs));
  const plan = planOf(graph);

  test("boxes do not overlap", () => expect(overlapping(plan)).toBe(0));

  test("lanes do not pass through boxes", () => {
    const lanes = [...plan.lanes.values()].flat();
    const columns = new Map<number, PlacedBox[]>();
    for (const box of plan.boxes.values()) columns.set(box.x, [...(columns.get(box.x) ?? []), box]);
    const xs = [...columns.keys()].sort((a, b) => a - b);
    const through = lanes.filter(({ column, y }) =>
      columns.get(xs[column]!)!.some((box) => box.y < y && y < box.y + box.height),
    );
    expect(through).toEqual([]);
  });

  test("the drawing has one path for each pair of datasets and influence", () => {
    const kinds = new Set(graph.links.map(({ source, target, indirect }) => source.box.key + target.box.key + indirect));
    expect(drawWires(graph, plan, []).length).toBe(kinds.size);
  });
});

test("rows that are lit move boxes of their own columns only", () => {
  const graph = graphOfEntries(syntheticEntries(100, 2000));
  const field = graph.boxes[50]!.fields[0]!;
  const [before, after] = [planOf(graph), planGraph(graph, fold(graph, { lit: new Set([field]) }))];
  const xs = new Set([...before.boxes.values()].filter(({ x }) => x !== before.boxes.get(field.box.key)!.x).map(({ x }) => x));
  expect(xs.size).toBeGreaterThan(3);
  expect(overlapping(after)).toBe(0);
  const moved = [...before.boxes].filter(([key, box]) => xs.has(box.x) && after.boxes.get(key)?.y !== box.y);
  expect(moved).toEqual([]);
});

test("a chain of 15,000 boxes needs no recursion", () => {
  const heights = new Array<number>(15_000).fill(50);
  const pairs = heights.slice(1).map((_, index) => ({ from: index, to: index + 1, fromY: 25, toY: 25 }));
  expect(Math.max(...layoutBoxes({ heights, pairs }).columns)).toBe(14_999);
});

test("a self-loop and a cycle pass below or above their boxes", () => {
  const pair = (from: number, to: number) => ({ from, to, fromY: 25, toY: 25 });
  const { columns, tops, lanes } = layoutBoxes({ heights: [50, 50], pairs: [pair(0, 0), pair(0, 1), pair(1, 0)] });
  expect(columns).toEqual([0, 1]);
  expect(lanes.map((each) => each.map(({ column, isBack }) => [column, isBack]))).toEqual([
    [[0, true]],
    [],
    [[1, true], [0, true]],
  ]);
  expect(lanes.flat().filter(({ column, y }) => y > tops[column]! && y < tops[column]! + 50)).toEqual([]);
});
