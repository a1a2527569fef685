import * as fc from "fast-check";
import { expect, test } from "vitest";
import { graphOfEntries } from "./build";
import { FIELDS_MAX, fold, ROWS_MAX, UNFOLD } from "./fold";
import { describeField, findFields, moveFocus, rowsOf, type Row } from "./keys";
import { labelOf } from "./model";
import { graphs, syntheticEntries } from "./samples";
import { planGraph } from "./scene";
import { litFields, trace } from "./trace";

const wide = graphOfEntries([
  {
    source: { namespace: "n", name: "a" },
    destination: { namespace: "n", name: "b" },
    fieldmap: Array.from({ length: 1000 }, (_, index) => ({ from: `f${index}`, to: `g${index}` })),
    level: 1,
    direction: "forward",
  },
]);

test("a small graph shows every field", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      for (const { box, shown, hidden } of fold(graph)) expect([shown, hidden]).toEqual([box.fields, 0]);
    }),
  );
});

test("a box of many fields shows those that are lit and counts the others", () => {
  const field = wide.boxes[0]!.fields[500]!;
  const [first, second] = fold(wide, { lit: litFields([trace(field, "out")]) });
  expect([first?.shown, first?.hidden]).toEqual([[field], 999]);
  expect([second?.shown, second?.hidden]).toEqual([[field.out[0]?.target], 999]);
});

test("each click unfolds more fields, until all are shown", () => {
  const shown = (clicks: number) => fold(wide, { unfolded: new Map([[wide.boxes[0]!.key, clicks]]) }).map((each) => each.shown.length);
  expect([shown(0), shown(1), shown(5), shown(6)]).toEqual([[0, 0], [UNFOLD, 0], [1000, 0], [1000, 0]]);
});

test("lit fields have a limit for each box and for the graph", () => {
  const large = graphOfEntries(syntheticEntries(300, 5000));
  const rows = (graph: typeof large) => {
    const folded = fold(graph, { lit: new Set(graph.boxes.flatMap((box) => box.fields)) });
    return folded.map(({ box, shown, hidden }) => ({ shown: shown.length, isWhole: shown.length + hidden === box.fields.length }));
  };
  expect(Math.max(...rows(wide).map(({ shown }) => shown))).toBe(FIELDS_MAX);
  expect(rows(large).reduce((sum, { shown }) => sum + shown, 0)).toBeLessThanOrEqual(ROWS_MAX);
  expect(rows(large).every(({ isWhole }) => isWhole)).toBe(true);
});

const isSame = (a: Row | undefined, b: Row) => a?.box === b.box && a.field === b.field;

test("every row is reached by ArrowDown, and ArrowUp goes back", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const plan = planGraph(graph, fold(graph));
      const rows = rowsOf(plan);
      for (let index = 1; index < rows.length; index++) {
        expect(isSame(moveFocus(plan, rows[index - 1]!, "ArrowDown"), rows[index]!)).toBe(true);
        expect(isSame(moveFocus(plan, rows[index]!, "ArrowUp"), rows[index - 1]!)).toBe(true);
      }
    }),
  );
});

test("n visits each end of the links of a field, and ArrowLeft returns to it", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const plan = planGraph(graph, fold(graph));
      for (const field of graph.boxes.flatMap((box) => box.fields)) {
        let focus = moveFocus(plan, { box: field.box, field }, "ArrowRight");
        for (const { target } of field.out) {
          expect(focus?.field).toBe(target);
          expect(moveFocus(plan, focus!, "ArrowLeft")?.field).toBe(field);
          focus = moveFocus(plan, focus!, "n");
        }
        expect(focus?.field).toBe(field.out[0]?.target);
      }
    }),
  );
});

test("a label begins with the text that is shown and says counts", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      for (const field of graph.boxes.flatMap((box) => box.fields)) {
        const label = describeField(field, undefined);
        expect(label.startsWith(`${labelOf(field)} of ${field.box.name}, from ${field.into.length}, to `)).toBe(true);
      }
    }),
  );
});

test("finding lists whole names first, hidden fields too, and has a limit", () => {
  const plan = planGraph(wide, fold(wide));
  expect(findFields(plan, "F99", 3).map(({ name }) => name)).toEqual(["f99", "f990", "f991"]);
  expect(findFields(plan, "  ", 3)).toEqual([]);
});
