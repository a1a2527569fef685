/** The links of a graph as CSV (RFC 4180), with the window they were asked for. */

import type { Box, Field, Graph, Link } from "./model";

const COLUMNS =
  "fromNamespace,fromName,fromField,toNamespace,toName,toField,influence,failed,change,runs,lastStart,lastRun,inOrder,windowStart,windowEnd,baseStart,baseEnd,truncatedBy";

interface Window {
  readonly start: number;
  readonly end: number;
}

/** The window that was answered, in epoch seconds, the one that it is compared with, and the limit that cut the answer. */
export interface Asked {
  readonly window?: Window | undefined;
  readonly base?: Window | undefined;
  readonly truncatedBy?: string | undefined;
}

type Cell = string | number | boolean | undefined;

/** Return one line for each link, generated field, dropped field and unknown relation. */
export function toCsv({ boxes, links, unknown }: Graph, { window, base, truncatedBy }: Asked): string {
  const limits = [...[window, base].flatMap((each) => [each && isoTime(each.start), each && isoTime(each.end)]), truncatedBy];
  const fields = boxes.flatMap((box) => box.fields);
  const rows: Cell[][] = [
    ...links.map(linkCells),
    ...fields.filter(({ generated }) => generated).map((field) => [...end(), ...end(field.box, field), "generated"]),
    ...fields.filter(({ dropped }) => dropped).map((field) => [...end(field.box, field), ...end(), "dropped"]),
    ...unknown.map(({ source, target }) => [...end(source), ...end(target), "unknown"]),
  ];
  const width = COLUMNS.split(",").length - limits.length;
  const lines = rows.map((row) => [...row, ...new Array<Cell>(width - row.length).fill(undefined), ...limits]);
  return [COLUMNS, ...lines.map((cells) => cells.map(formatCell).join(","))].map((line) => `${line}\r\n`).join("");
}

function linkCells({ source, target, indirect, failed, change, runs, lastStart, lastRun, inOrder }: Link): Cell[] {
  const ends = [...end(source.box, source), ...end(target.box, target)];
  const last = lastStart === undefined ? undefined : isoTime(lastStart / 1000);
  return [...ends, indirect ? "indirect" : "direct", failed, change, runs, last, lastRun, inOrder];
}

function end(box?: Box, field?: Field): Cell[] {
  return [box?.namespace, box?.name, field?.name];
}

/** Quote a cell where needed. A spreadsheet would compute a text that begins like a formula: `'` defuses it. */
export function formatCell(cell: Cell): string {
  const text = String(cell ?? "");
  const safe = typeof cell === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Format epoch seconds as ISO 8601 in UTC. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
