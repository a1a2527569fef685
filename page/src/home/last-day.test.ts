import fc from "fast-check";
import { expect, test } from "vitest";
import { resolveTime } from "../state/window";
import { lastDay } from "./last-day";

const NOW = 1_795_000_000;

test.each([
  [{ start: "now-30d", end: "now" }, { start: "now-1d", end: "now" }],
  [{ start: "now-30d", end: "now-7d" }, { start: "now-7d-1d", end: "now-7d" }],
  [{ start: "now-1h", end: "now" }, { start: "now-1h", end: "now" }],
  [{ start: "now-24h", end: "now" }, { start: "now-24h", end: "now" }],
  [{ start: "2026-11-01", end: "2026-11-20" }, { start: "1795046400", end: "2026-11-20" }],
  [{ start: "soon", end: "now" }, { start: "soon", end: "now" }],
])("the last day of %j", (window, day) => {
  expect(lastDay(window, NOW)).toEqual(day);
});

test("it ends with its window, begins in it, and is a day at most", () => {
  const times = fc.oneof(
    fc.integer({ min: 0, max: 2_000_000_000 }).map(String),
    fc.integer({ min: 0, max: 400 }).map((days) => `now-${days}d`),
  );
  fc.assert(
    fc.property(times, times, (start, end) => {
      const day = lastDay({ start, end }, NOW);
      const [from, to] = [resolveTime(day.start, NOW) ?? NaN, resolveTime(day.end, NOW) ?? NaN];
      expect(day.end).toBe(end);
      expect(from).toBeGreaterThanOrEqual(resolveTime(start, NOW) ?? NaN);
      expect(to - from).toBeLessThanOrEqual(86_400);
    }),
  );
});
