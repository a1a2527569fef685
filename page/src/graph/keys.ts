/** Where the focus goes in the graph: rows in reading order, and along links. */

import { isUnordered, labelOf, type Box, type Change, type Field } from "./model";
import type { PlacedBox, Plan } from "./scene";
import type { Light, Side } from "./trace";

/** A row of a box: a field, or the row of hidden fields. */
export interface Row {
  readonly box: Box;
  readonly field: Field | undefined;
}

/** The row in focus, and by which of the links of which field it was reached. */
export interface Focus extends Row {
  readonly along?: { readonly origin: Field; readonly side: Side; readonly index: number } | undefined;
}

/** Return the focus after a key, or undefined if the key does not move it. */
export function moveFocus(plan: Plan, focus: Focus, key: string): Focus | undefined {
  const rows = rowsOf(plan);
  const at = rows.findIndex((row) => row.box === focus.box && row.field === focus.field);
  switch (key) {
    case "ArrowDown":
      return rows[Math.min(at + 1, rows.length - 1)];
    case "ArrowUp":
      return rows[Math.max(at - 1, 0)];
    case "Home":
      return rows[0];
    case "End":
      return rows.at(-1);
    case "ArrowRight":
      return follow(plan, focus, "out");
    case "ArrowLeft":
      return follow(plan, focus, "into");
    case "n":
      return focus.along && reach(plan, focus.along.origin, focus.along.side, focus.along.index + 1);
    default:
      return undefined;
  }
}

/** Return every row, column by column from the top. */
export function rowsOf(plan: Plan): Row[] {
  return inReadingOrder(plan).flatMap(({ folded: { box, shown, hidden } }) => [
    ...shown.map((field) => ({ box, field })),
    ...(hidden > 0 ? [{ box, field: undefined }] : []),
  ]);
}

function inReadingOrder(plan: Plan): PlacedBox[] {
  return [...plan.boxes.values()].sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Follow the first link of a side; against the side by which the focus came, go back to where it came from. */
function follow(plan: Plan, { field, along }: Focus, side: Side): Focus | undefined {
  if (!field) return undefined;
  return along && along.side !== side ? rowOf(plan, along.origin) : reach(plan, field, side, 0);
}

function reach(plan: Plan, origin: Field, side: Side, wanted: number): Focus | undefined {
  if (origin[side].length === 0) return undefined;
  const index = wanted % origin[side].length;
  const link = origin[side][index]!;
  return { ...rowOf(plan, side === "out" ? link.target : link.source), along: { origin, side, index } };
}

/** Return the row in which a field stands: its own, or the one of the hidden fields. */
function rowOf(plan: Plan, field: Field): Row {
  const isShown = plan.boxes.get(field.box.key)?.folded.shown.includes(field);
  return { box: field.box, field: isShown ? field : undefined };
}

const LIGHTS = { value: ", holds its value", shape: ", only shaped", late: "" };

/** Return what a screen reader says of a field: it begins with the text that is shown. */
export function describeField(field: Field, light: Light | undefined): string {
  const changed = (change: Change) => [...field.into, ...field.out].filter((link) => link.change === change).length;
  const [gained, lost] = [changed("gained"), changed("lost")];
  const facts = [
    gained > 0 && `, ${gained} gained`,
    lost > 0 && `, ${lost} lost`,
    field.generated && ", generated",
    field.dropped && ", dropped",
    (isUnordered(field) || light === "late") && ", not in order of the runs",
    light && LIGHTS[light],
  ];
  const counts = `from ${field.into.length}, to ${field.out.length}`;
  return `${labelOf(field)} of ${field.box.name}, ${counts}${facts.filter(Boolean).join("")}`;
}

/** Return fields whose label or dataset contains a text, whole names first, at most `limit`. */
export function findFields(plan: Plan, text: string, limit: number): Field[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const rank = (field: Field) => {
    const [label, dataset] = [labelOf(field).toLowerCase(), field.box.name.toLowerCase()];
    return [label === wanted, label.startsWith(wanted), label.includes(wanted), dataset.includes(wanted)].indexOf(true);
  };
  const hits = inReadingOrder(plan)
    .flatMap(({ folded }) => folded.box.fields.map((field) => ({ field, rank: rank(field) })))
    .filter((hit) => hit.rank >= 0);
  return hits.sort((a, b) => a.rank - b.rank).slice(0, limit).map(({ field }) => field);
}
