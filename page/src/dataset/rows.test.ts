import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry, ListedField } from "../api/answers";
import { relatedDatasets } from "./related";
import { fieldRows, firstPart, type Row } from "./rows";

const toField = (name: string): ListedField => ({ name, read: true, written: true });
const parts = fc.constantFrom("a", "b", "", "é", "%2F");
const names = fc.uniqueArray(
  fc.array(parts, { minLength: 1, maxLength: 3 }).map((path) => path.join("/")).filter((name) => name !== ""),
  { maxLength: 30 },
);
const shown = (rows: readonly Row[]) => rows.flatMap((row) => (row.kind === "field" ? [row.field.name] : []));

describe("rows of fields", () => {
  test("every field is in a row or counted in a folded group, once", () => {
    fc.assert(
      fc.property(names, fc.array(parts), (list, open) => {
        const rows = fieldRows(list.map(toField), { filter: "", open });
        const folded = rows.reduce((sum, row) => sum + (row.kind === "group" && !row.isOpen ? row.count : 0), 0);
        expect(new Set(shown(rows)).size + folded).toBe(list.length);
      }),
    );
  });

  test("with all groups open every field is there", () => {
    fc.assert(
      fc.property(names, (list) => {
        const rows = fieldRows(list.map(toField), { filter: "", open: list.map(firstPart) });
        expect(shown(rows).sort()).toEqual([...list].sort());
      }),
    );
  });

  test("a filter shows what contains it, in any case and folded groups too", () => {
    const rows = fieldRows(["employees/Name", "employees/age", "name"].map(toField), { filter: " NAME ", open: [] });
    expect(shown(rows)).toEqual(["employees/Name", "name"]);
  });

  test("nested fields are folded by their first part, and the selected one is in sight", () => {
    const fields = ["id", "person", "person/age", "person/name"].map(toField);
    const folded = fieldRows(fields, { filter: "", open: [] });
    expect(folded.map((row) => (row.kind === "group" ? `${row.name} ${row.count}` : row.label))).toEqual(["id", "person", "person 2"]);
    expect(shown(fieldRows(fields, { filter: "", open: [], selected: "person/age" }))).toContain("person/age");
  });

  test("a field of one part, and a path alone in its group, stay as they are", () => {
    expect(fieldRows([toField("a/b"), toField("/c")], { filter: "", open: [] })).toHaveLength(2);
    expect(firstPart("/c/d")).toBe("/c");
  });

  test("the work grows with the number of fields", () => {
    const fields = Array.from({ length: 50_000 }, (_, index) => toField(`g${index % 500}/f${index}`));
    expect(fieldRows(fields, { filter: "", open: [] })).toHaveLength(500);
  });
});

describe("related datasets", () => {
  const [a, b] = [{ namespace: "n", name: "a" }, { namespace: "n", name: "b" }];
  const entry = (change: Partial<Entry>): Entry => ({ source: a, destination: b, fieldmap: [], level: 1, direction: "backward", ...change });
  const lineage = [
    entry({ fieldmap: [{ from: "x", to: "y" }, { from: "z", to: "*", influence: "indirect" }] }),
    entry({ source: null, fieldmap: [{ from: null, to: "made" }] }),
    entry({ level: 2, fieldmap: [{ from: "far", to: "x" }] }),
    entry({ direction: "forward", source: b, destination: null, fieldmap: [{ from: "y", to: null }] }),
    entry({ direction: "forward", source: b, destination: a, unknown: true }),
  ];

  test("are the neighbours of one direction", () => {
    expect(relatedDatasets(lineage, "backward").map(({ dataset }) => dataset)).toEqual([a, null]);
    expect(relatedDatasets(lineage, "forward").map(({ dataset, isUnknown }) => [dataset, isUnknown])).toEqual([[null, false], [a, true]]);
  });

  test("of a field have its pairs, and what concerns every row", () => {
    expect(relatedDatasets(lineage, "backward", "y")[0]?.pairs.map(({ from }) => from)).toEqual(["x", "z"]);
    expect(relatedDatasets(lineage, "forward", "other").map(({ isUnknown }) => isUnknown)).toEqual([true]);
  });
});
