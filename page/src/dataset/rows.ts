/** The list of the fields of a dataset: filtered, and nested fields folded by the first part of their path. */

import type { ListedField } from "../api/answers";

export interface GroupRow {
  kind: "group";
  /** The first part of the paths. */
  name: string;
  count: number;
  isOpen: boolean;
}

export interface FieldRow {
  kind: "field";
  field: ListedField;
  /** The name, in a group without its first part. */
  label: string;
  isNested: boolean;
}

export type Row = GroupRow | FieldRow;

export interface RowOptions {
  /** Only fields whose names contain this text, in any case; their groups are then open. */
  filter: string;
  /** First parts whose groups are open. */
  open: readonly string[];
  /** A field whose group is open. */
  selected?: string;
}

/** Return the rows of a list of fields, in its order: a group stands where its first field stands. */
export function fieldRows(fields: readonly ListedField[], { filter, open, selected }: RowOptions): Row[] {
  const text = filter.trim().toLowerCase();
  const matches = text === "" ? fields : fields.filter(({ name }) => name.toLowerCase().includes(text));
  const groups = groupByFirstPart(matches);
  const isOpen = (part: string) =>
    text !== "" || open.includes(part) || (selected !== undefined && firstPart(selected) === part);
  return [...groups].flatMap(([part, members]) => {
    if (members.length < 2) return members.map(toplevelRow);
    const nested = members.filter(({ name }) => name !== part);
    const itself = members.filter(({ name }) => name === part).map(toplevelRow);
    const group: GroupRow = { kind: "group", name: part, count: nested.length, isOpen: isOpen(part) };
    return [...itself, group, ...(group.isOpen ? nested.map((field) => nestedRow(field, part)) : [])];
  });
}

/** Return the first part of a path, the whole name of a field that is not nested. */
export function firstPart(name: string): string {
  const end = name.indexOf("/", 1);
  return end === -1 ? name : name.slice(0, end);
}

function groupByFirstPart(fields: readonly ListedField[]): Map<string, ListedField[]> {
  const groups = new Map<string, ListedField[]>();
  for (const field of fields) {
    const part = firstPart(field.name);
    const members = groups.get(part);
    if (members) members.push(field);
    else groups.set(part, [field]);
  }
  return groups;
}

function toplevelRow(field: ListedField): FieldRow {
  return { kind: "field", field, label: field.name, isNested: false };
}

function nestedRow(field: ListedField, part: string): FieldRow {
  return { kind: "field", field, label: field.name.slice(part.length + 1), isNested: true };
}
