import { expect, test } from "vitest";
import type { ActivityEvent } from "../api/answers";
import { outcomeText, sortEvents } from "./events";
import { newestFirst } from "./run-order";

test("failed and aborted runs are one list, the newest first", () => {
  const failed = [{ run: "c", startTime: 30 }, { run: "a", startTime: 10 }];
  const aborted = [{ run: "b", startTime: 20 }, { run: "d", startTime: 10 }];
  expect(newestFirst([...failed, ...aborted]).map(({ run }) => run)).toEqual(["c", "b", "a", "d"]);
});

test("documents of two answers are one list, the newest first", () => {
  const event = (time: number): ActivityEvent => ({ time, outcome: "refused", route: "/v3/sql" });
  expect(sortEvents([event(1), event(3), event(2)]).map(({ time }) => time)).toEqual([3, 2, 1]);
});

test.each([
  ["recorded", 2, "recorded, 2 warnings"],
  ["replaced", 1, "replaced, 1 warning"],
  ["refused", undefined, "refused"],
] as const)("a document that was %s with %s", (outcome, warnings, text) => {
  expect(outcomeText({ outcome, warnings })).toBe(text);
});
