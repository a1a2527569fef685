import { describe, expect, test } from "vitest";
import type { FieldOperations, Stretch } from "../api/answers";
import { commonText, countChanges, countText, omittedText, toChanges } from "./changes";
import { parseNodeId } from "./node-id";
import { simpleRows } from "./simple";
import { sameContents, segments, stretchWindow } from "./ways";

test.each([
  ["read.body", "read", "body"],
  ["shop.revenue.tier.tier", "shop.revenue.tier", "tier"],
  ["a b.x%2Ey%25z", "a b", "x.y%z"],
  ["a.%252E", "a", "%2E"],
  ["hidden-1", "", "hidden 1"],
])("the id %s is of operation %s and field %s", (id, origin, field) => {
  expect(parseNodeId(id)).toEqual({ origin, field });
});

describe("the simple view", () => {
  const node = (name: string, label: string) => ({
    id: `${name}.${label}`,
    label,
    origin: name,
    sourceEndPoint: { namespace: "ns", name },
  });
  const target = { id: "t.id", label: "id", origin: "t", destinationEndPoint: { namespace: "ns", name: "to" } };
  const copied = { ...node("c", "id"), destinationEndPoint: { namespace: "ns", name: "to" } };
  const lineage: FieldOperations = {
    nodes: [node("b", "y"), node("a", "x"), target, copied],
    operations: [],
    connections: [
      { from: "b.y", to: "t.id", operation: "p, t", operations: ["p", "t"], influence: "indirect" },
      { from: "a.x", to: "t.id", operation: "t" },
      { from: "cut.x", to: "t.id", operation: "t" },
    ],
    checksums: [],
    truncated: false,
  };

  test("has a line for each source, by dataset, and one for a field that is passed on as it is", () => {
    const rows = simpleRows(lineage).map((row) => [row.from.id, row.operations, row.indirect]);
    expect(rows).toEqual([["a.x", ["t"], false], ["b.y", ["p", "t"], true], ["c.id", [], false]]);
  });
});

describe("the ways of a window", () => {
  const stretch = (firstStart: number, lastStart: number, checksum: string): Stretch => ({
    checksum,
    firstRun: "",
    lastRun: "",
    firstStart,
    lastStart,
    runs: 2,
    missing: 0,
    missingAfter: 0,
  });
  const stretches = [stretch(70_000, 100_000, "b"), stretch(20_000, 50_000, "a"), stretch(10_000, 10_000, "b")];

  test("are its parts from the oldest, with the gaps between", () => {
    expect(segments(stretches, { start: 0, end: 100 })).toEqual([
      { from: 0, to: 0.1 },
      { from: 0.1, to: 0.1, stretch: 2 },
      { from: 0.1, to: 0.2 },
      { from: 0.2, to: 0.5, stretch: 1 },
      { from: 0.5, to: 0.7 },
      { from: 0.7, to: 1, stretch: 0 },
    ]);
    expect(segments(stretches, { start: 5, end: 5 })).toEqual([]);
    expect(segments([], { start: 0, end: 9 })).toEqual([{ from: 0, to: 1 }]);
  });

  test("that have the same content are named by the newest", () => {
    expect(sameContents(stretches)).toEqual([0, 1, 0]);
  });

  test("open in a window of exactly their runs", () => {
    expect(stretchWindow(stretch(1_792_812_316_354, 1_795_400_712_999, ""))).toEqual({
      start: "1792812316.354",
      end: "1795400713",
    });
  });
});

test("a diff is its gained and its lost ways and parts, counted", () => {
  const operation = { name: "inflammation", description: "", type: "TRANSFORM" as const };
  const source = { namespace: "ns", name: "Labs", field: "crp" };
  const way = { digest: "1f", checksum: "2e", runs: 3, firstStart: 5, lastStart: 7 };
  const changes = toChanges({
    gained: { operations: [operation], edges: [], sources: [source], derivations: [] },
    lost: { operations: [], edges: [], sources: [source], derivations: [way] },
    kept: 19,
    truncated: false,
  });
  expect(changes.sources.map(({ change }) => change)).toEqual(["gained", "lost"]);
  expect(changes.ways).toEqual([{ change: "lost", item: way }]);
  expect(countChanges(changes)).toBe(4);
});

test("a way whose parts are all in both windows is a change", () => {
  const none = { operations: [], edges: [], sources: [], derivations: [] };
  const changes = toChanges({ gained: { ...none, derivations: [{ digest: "1f", checksum: "2e", runs: 0 }] }, lost: none, kept: 19, truncated: false });
  expect(countChanges(changes)).toBe(1);
});

test.each([
  [[], undefined],
  [["gained"], "1 way gained"],
  [["lost", "lost"], "2 ways lost"],
  [["gained", "gained", "lost"], "2 ways gained, 1 lost"],
  [["gained", "lost"], "1 way gained, 1 lost"],
] as const)("changes %j are counted as %j", (changes, text) => {
  expect(countText(changes.map((change) => ({ change })), "way", "ways")).toBe(text);
});

test.each([
  [0, "No operation or link is in both windows."],
  [1, "1 operation or link is in both windows."],
  [1200, "1,200 operations and links are in both windows."],
])("%i common parts are counted in a sentence", (kept, text) => {
  const none = { operations: [], edges: [], sources: [], derivations: [] };
  expect(commonText({ field: "total", gained: none, lost: none, kept })).toBe(text);
});

test("what a limit left out of a field is named", () => {
  const none = { operations: [], edges: [], sources: [], derivations: [] };
  const changed = { field: "total", gained: none, lost: none, kept: 0 };
  expect(omittedText(changed)).toBeUndefined();
  expect(omittedText({ ...changed, omitted: ["gained", "lost"] })).toMatch(/^What was gained or lost is not complete/);
});
