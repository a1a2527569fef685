import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FieldOperations } from "../api/answers";
import { inOrder, type OperationRow, rowsOfField, rowsOfRun } from "./rows";

const PEOPLE = { namespace: "ns1", name: "people" };
const USERS = { namespace: "ns1", name: "user_data" };

const LINEAGE: FieldOperations = {
  nodes: [
    { id: "parse.name", label: "name", origin: "parse", type: "string", destinationEndPoint: PEOPLE },
    { id: "read.body", label: "body", origin: "read", sourceEndPoint: USERS },
    { id: "read.day", label: "day", origin: "read", sourceEndPoint: USERS },
  ],
  operations: [
    { name: "parse", description: "parsing the body", type: "TRANSFORM" },
    { name: "read", description: "", type: "READ", endPoint: USERS },
    { name: "store", description: "", type: "WRITE", endPoint: PEOPLE, failed: true },
  ],
  connections: [
    { from: "read.body", to: "parse.name", operation: "parse" },
    { from: "read.day", to: "parse.name", operation: "parse", influence: "indirect" },
    { from: "read.cut", to: "parse.name", operation: "parse" },
  ],
  checksums: [],
  truncated: false,
};

describe("operations of a field", () => {
  test("stand after those they take from, with what they take and make", () => {
    const [read, parse, store] = rowsOfField(LINEAGE);
    expect(read).toMatchObject({ name: "read", dataset: USERS, inputs: [] });
    expect(read?.outputs.map((output) => output.field)).toEqual(["body", "day"]);
    expect(parse?.inputs).toEqual([
      { origin: "read", field: "body", indirect: false, failed: false },
      { origin: "read", field: "day", indirect: true, failed: false },
    ]);
    expect(parse?.outputs).toEqual([{ field: "name", type: "string", writtenTo: [PEOPLE], failed: false }]);
    expect(store).toMatchObject({ name: "store", failed: true, inputs: [{ origin: "parse", field: "name" }] });
  });

  test("take an input directly as soon as one of its connections is direct", () => {
    const connections = [
      { from: "read.body", to: "parse.a", operation: "parse", influence: "indirect" as const, failed: true },
      { from: "read.body", to: "parse.b", operation: "parse" },
    ];
    const rows = rowsOfField({ ...LINEAGE, connections });
    expect(rows[1]?.inputs).toEqual([{ origin: "read", field: "body", indirect: false, failed: false }]);
  });

  test("of two WRITEs take what is written to their own dataset", () => {
    const other = { namespace: "ns1", name: "other" };
    const [first, ...rest] = LINEAGE.nodes;
    const node = { ...first!, destinationEndPoints: [other, PEOPLE] };
    const operations = [...LINEAGE.operations, { name: "copy", description: "", type: "WRITE" as const, endPoint: other }];
    const rows = rowsOfField({ ...LINEAGE, nodes: [node, ...rest], operations });
    expect(rows.filter((row) => row.type === "WRITE").map((row) => row.inputs.length)).toEqual([1, 1]);
  });
});

test("operations of a run keep the kind of an indirect input, and outputs without a type", () => {
  const rows = rowsOfRun([
    { name: "w", description: "", type: "WRITE", destination: { ...PEOPLE, description: "" }, inputs: [{ origin: "r", name: "day", influence: "indirect", kind: "filter" }] },
    { name: "r", description: "", type: "READ", source: { ...USERS, description: "" }, outputs: [{ name: "day" }, { name: "body", type: "string" }] },
  ]);
  expect(rows.map((row) => row.name)).toEqual(["r", "w"]);
  expect(rows[0]?.outputs.map(({ field, type }) => [field, type])).toEqual([["day", undefined], ["body", "string"]]);
  expect(rows[1]?.inputs[0]).toMatchObject({ indirect: true, kind: "filter" });
});

/** Rows named by their number, each taking from the given ones. */
function linked(inputs: readonly (readonly number[])[]): OperationRow[] {
  return inputs.map((origins, number) => ({
    name: String(number),
    type: "TRANSFORM",
    description: "",
    inputs: origins.map((origin) => ({ origin: String(origin), field: "f", indirect: false, failed: false })),
    outputs: [],
    failed: false,
  }));
}

describe("the order", () => {
  test("has each operation once, after all that it takes from", () => {
    const acyclic = fc.array(fc.array(fc.nat(60), { maxLength: 4 }), { maxLength: 60 });
    fc.assert(
      fc.property(acyclic, (lists) => {
        const rows = linked(lists.map((origins, number) => origins.filter((origin) => origin < number))).reverse();
        const names = inOrder(rows).map((row) => row.name);
        expect([...names].sort()).toEqual(rows.map((row) => row.name).sort());
        for (const row of rows)
          for (const { origin } of row.inputs) expect(names.indexOf(origin)).toBeLessThan(names.indexOf(row.name));
      }),
    );
  });

  test("ends for a cycle, and for a chain of 50,000 operations", () => {
    expect(inOrder(linked([[1], [0]]))).toHaveLength(2);
    const chain = linked(Array.from({ length: 50_000 }, (_, number) => (number > 0 ? [number - 1] : [])));
    expect(inOrder(chain.reverse()).map((row) => row.name).slice(0, 3)).toEqual(["0", "1", "2"]);
  });
});
