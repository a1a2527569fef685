import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apiUrl } from "./client";
import { hasDotSegment } from "./dot-names";
import { paths } from "./paths";

const text = fc.string({ unit: "binary", minLength: 1 }).map((value) => value.toWellFormed());

describe("paths", () => {
  test("a name is one segment, whatever it holds", () => {
    fc.assert(
      fc.property(text, text, text, (ns, name, field) => {
        const segments = paths.operations(ns, name, field).split("/");
        expect(segments).toHaveLength(8);
        expect([2, 4, 6].map((index) => decodeURIComponent(segments[index] ?? ""))).toEqual([ns, name, field]);
      }),
    );
  });

  test("names that a browser would take out of an address are found", () => {
    fc.assert(
      fc.property(text, text, (ns, name) => {
        const url = paths.lineage(ns, name);
        const isChanged = new URL(url, "http://host/").pathname !== `/${url}`;
        expect(hasDotSegment(url)).toBe(isChanged);
      }),
    );
    expect([".", "..", "...", "a.."].map((name) => hasDotSegment(paths.dataset("a", name)))).toEqual([true, true, false, false]);
  });

  test("are relative", () => {
    for (const path of [paths.search(), paths.dataset("a", "b"), paths.run("r")]) expect(path).toMatch(/^v3\//);
  });

  test("a plus is escaped, undefined is left out", () => {
    expect(apiUrl(paths.search(), { start: "now-1h+30m", level: 2, field: undefined, failed: false })).toBe("v3/search?start=now-1h%2B30m&level=2&failed=false");
  });
});
