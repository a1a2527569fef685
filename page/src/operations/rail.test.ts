import fc from "fast-check";
import { expect, test } from "vitest";
import { LANES_MAX, layOutRail } from "./rail";
import { inOrder, type OperationRow } from "./rows";

function operation(name: number, origins: readonly number[], indirect = false): OperationRow {
  const inputs = origins.map((origin) => ({ origin: String(origin), field: "f", indirect, failed: false }));
  return { name: String(name), type: "TRANSFORM", description: "", inputs, outputs: [], failed: false };
}

const lists = fc.array(fc.array(fc.nat(25), { maxLength: 3 }), { maxLength: 25 });

test("a chain is one straight line", () => {
  const rail = layOutRail([operation(0, []), operation(1, [0]), operation(2, [1], true)]);
  expect(rail?.lanes).toBe(1);
  expect(rail?.rows.map((row) => row.into)).toEqual([[], [{ lane: 0, indirect: false }], [{ lane: 0, indirect: true }]]);
  expect(rail?.rows.map((row) => row.below)).toEqual([[{ lane: 0, indirect: false }], [{ lane: 0, indirect: true }], []]);
});

test("a line goes from its operation, past all rows between, to the last one that takes from it", () => {
  fc.assert(
    fc.property(lists, (origins) => {
      const rows = origins.map((list, name) => operation(name, [...new Set(list)].filter((origin) => origin < name)));
      const rail = layOutRail(rows);
      if (!rail) throw new Error("25 operations have at most 25 lanes");
      rows.forEach((row, to) => {
        const origin = row.inputs.map((input) => Number(input.origin));
        const lanes = origin.map((from) => rail.rows[from]?.lane);
        expect(rail.rows[to]?.into.map((line) => line.lane).sort()).toEqual(lanes.sort());
        for (const from of origin)
          for (let between = from + 1; between < to; between += 1)
            expect(rail.rows[between]?.passing.map((line) => line.lane)).toContain(rail.rows[from]?.lane);
      });
    }),
  );
});

test("no dot lies on a line that passes, and every line below a row is one above the next", () => {
  fc.assert(
    fc.property(lists, (origins) => {
      const rows = origins.map((list, name) => operation(name, list.filter((origin) => origin < name)));
      const drawn = layOutRail(rows)?.rows ?? [];
      drawn.forEach((row, index) => {
        expect(row.passing.map((line) => line.lane)).not.toContain(row.lane);
        const next = drawn[index + 1];
        const arriving = next ? [...next.into, ...next.passing].map((line) => line.lane) : [];
        expect(new Set(row.below.map((line) => line.lane))).toEqual(new Set(arriving));
      });
    }),
  );
});

test("more lanes than can be distinguished are not drawn", () => {
  const sources = Array.from({ length: LANES_MAX + 1 }, (_, name) => operation(name, []));
  const all = operation(LANES_MAX + 1, sources.map((_, name) => name));
  expect(layOutRail([...sources, all])).toBeUndefined();
  expect(layOutRail([])).toEqual({ rows: [], lanes: 1 });
});

test("a chain in which each operation reads a source of its own has few lanes", () => {
  const chain = Array.from({ length: 100 }, (_, step) => operation(step, step === 0 ? [100] : [100 + step, step - 1]));
  const sources = Array.from({ length: 100 }, (_, step) => operation(100 + step, []));
  expect(layOutRail(inOrder([...sources, ...chain]))?.lanes).toBe(2);
});
