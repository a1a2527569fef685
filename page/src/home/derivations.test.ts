import { expect, test } from "vitest";
import type { FieldName, ReachEdge } from "../api/answers";
import { newDerivations } from "./derivations";

const field = (name: string): FieldName => ({ namespace: "n", name, field: "x" });
const edge = (from: string, to: string, firstStart: number, more: Partial<ReachEdge> = {}): ReachEdge => ({
  from: field(from),
  to: field(to),
  influence: "direct",
  firstStart,
  ...more,
});
const ends = (since: number, edges: readonly ReachEdge[]) =>
  newDerivations([{ tag: "PII", field: field("a"), edges }], since).map(({ edge: { from, to } }) => `${from.name}${to.name}`);

test("edges whose first run is new, the newest first", () => {
  expect(ends(10, [edge("a", "b", 9_999), edge("a", "c", 10_000), edge("c", "d", 11_000)])).toEqual(["cd", "ac"]);
});

test("an edge against the order of the runs passes no value", () => {
  expect(ends(0, [edge("a", "b", 1, { inOrder: false }), edge("a", "c", 1, { inOrder: true })])).toEqual(["ac"]);
});

test("an edge whose runs were not counted is not called new", () => {
  expect(ends(1, [{ from: field("a"), to: field("b"), influence: "direct" }])).toEqual([]);
});

test("an edge downstream of several tagged fields is one, with all tags", () => {
  const shared = edge("b", "c", 20_000);
  const [only, ...others] = newDerivations(
    [
      { tag: "PII", field: field("a"), edges: [shared] },
      { tag: "GDPR", field: field("a"), edges: [shared] },
      { tag: "PII", field: field("z"), edges: [shared] },
    ],
    10,
  );
  expect(others).toEqual([]);
  expect(only).toEqual({ edge: shared, tags: ["PII", "GDPR"], tagged: [field("a"), field("z")] });
});
