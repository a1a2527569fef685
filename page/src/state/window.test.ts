import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseTyped, toTyped } from "./time-input";
import { formatLength, formatTime, pinWindow, presetOf, PRESETS, resolveTime, stepWindow } from "./window";

const NOW = 1_795_403_566.032;
/** Epoch seconds with milliseconds, from 1970 to 2100. */
const times = fc.integer({ min: 0, max: 4_102_444_800_000 }).map((ms) => ms / 1000);

describe("times of the API", () => {
  test.each([
    ["now", NOW],
    ["now-7d", NOW - 7 * 86_400],
    ["now-1d-12h", NOW - 1.5 * 86_400],
    ["now-1h+30m", NOW - 1800],
    ["now-1w+5s", NOW - 604_795],
    ["0", 0],
    ["1795403566.5", 1_795_403_566.5],
    ["2026-11-01", 1_793_491_200],
    ["2026-11-01T06:00:00Z", 1_793_512_800],
    ["2026-11-01T06:00+01:00", 1_793_509_200],
  ])("%s", (text, seconds) => expect(resolveTime(text, NOW)).toBeCloseTo(seconds, 6));

  test.each(["", "now-", "now-7", "now-7D", "now -7d", "yesterday", "-1", "2026-11-01T06:00:00", "2026-13-01", "now-99999d"])(
    "%j is refused",
    (text) => expect(resolveTime(text, NOW)).toBeUndefined(),
  );

  test("every preset is a window", () => {
    for (const { start, end, label } of PRESETS) {
      expect(resolveTime(start, NOW)).toBeLessThan(resolveTime(end, NOW) ?? 0);
      expect(presetOf({ start, end })?.label).toBe(label);
    }
  });
});

describe("windows", () => {
  test("pinned times are read back to the millisecond", () => {
    fc.assert(
      fc.property(times, times, (from, to) => {
        const { start, end } = pinWindow(from, to);
        expect([resolveTime(start, 0), resolveTime(end, 0)]).toEqual([from, to]);
      }),
    );
  });

  test("a step is as long as the window, and neighbours meet", () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 10 ** 9 }), (from, milliseconds) => {
        const to = Number((from + milliseconds / 1000).toFixed(3));
        const after = stepWindow(from, to, 1);
        expect(Number(after.start)).toBeCloseTo(to, 3);
        expect(Number(after.end) - Number(after.start)).toBeCloseTo(to - from, 2);
        expect(Number(stepWindow(from, to, -1).start)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test.each([
    [0, "0 s"],
    [59, "59 s"],
    [3600, "1 h"],
    [43_200, "12 h"],
    [2_592_000, "30 d"],
    [2_595_661, "30 d 1 h"],
  ])("%d s is %s", (seconds, text) => expect(formatLength(seconds)).toBe(text));
});

describe("typed times", () => {
  test.each(["utc", "local"] as const)("exact times survive typing in %s", (zone) => {
    fc.assert(
      fc.property(times, (seconds) => {
        const { start } = pinWindow(seconds, seconds);
        const typed = parseTyped(toTyped(start, zone), zone, NOW);
        // An hour that the clock goes through twice is typed alike; nothing else may differ.
        const isRepeated = zone === "local" && toTyped(typed ?? "", zone) === toTyped(start, zone);
        expect(typed === start || isRepeated).toBe(true);
      }),
    );
  });

  test("a date begins at midnight of its zone", () => {
    expect(parseTyped(" 2026-11-01 ", "utc", NOW)).toBe("1793491200");
    expect(parseTyped("2026-11-01", "local", NOW)).toBe(String(new Date(2026, 10, 1).getTime() / 1000));
  });

  test.each(["2026-02-31", "2026-11-01 24:00", "2026-11-01 6:00", "1969-12-31", "tomorrow", ""])("%j is no time", (text) =>
    expect(parseTyped(text, "utc", NOW)).toBeUndefined(),
  );

  test("arithmetic stays what it is", () => {
    expect(toTyped("now-7d", "local")).toBe("now-7d");
    expect(parseTyped("now-7d", "local", NOW)).toBe("now-7d");
  });

  test("times are shown in UTC whatever the zone of the machine", () => {
    expect(formatTime(1_793_512_800.999, "utc")).toBe("2026-11-01 06:00:00");
    expect(formatTime(1e20, "utc")).toContain("since 1970");
  });
});
