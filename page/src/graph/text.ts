/** How much of a name fits into a box of the graph. */

import { isUnordered, labelOf, type Field, type Graph } from "./model";

const WIDTH_MIN = 184;
const WIDTH_MAX = 320;
const PADDING = 28;
const TAIL = 10;
/** Mean widths in pixels of a character of the names of datasets and fields, as the style sheet draws them. */
export const DATASET_CHARACTER = 8.1;
export const FIELD_CHARACTER = 7.4;

/** Return the width of the boxes of a graph: the longest name fits, within limits. */
export function boxWidth({ boxes }: Graph): number {
  let widest = 0;
  for (const box of boxes) {
    widest = Math.max(widest, cells(box.name) * DATASET_CHARACTER);
    for (const field of box.fields) widest = Math.max(widest, (cells(labelOf(field)) + noteLength(field)) * FIELD_CHARACTER);
  }
  return Math.round(Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, widest + PADDING)));
}

/** Return what is noted at the right of a field. */
export function noteOf(field: Field): string {
  if (isUnordered(field)) return "not in order";
  return field.generated ? "generated" : field.dropped ? "dropped" : "";
}

function noteLength(field: Field): number {
  return noteOf(field) === "" ? 0 : noteOf(field).length + 2;
}

/** Return a text that fits into a width, with `…` for its middle: both ends of a name tell more. */
export function fitText(text: string, width: number, character: number): string {
  const room = Math.floor(width / character);
  if (cells(text) <= room) return text;
  const characters = [...text];
  const end = takeCells(characters.toReversed(), Math.min(TAIL, Math.floor(room / 3))).reverse();
  return `${takeCells(characters, room - 1 - cells(end.join(""))).join("")}…${end.join("")}`;
}

function takeCells(characters: readonly string[], room: number): string[] {
  const result: string[] = [];
  for (let used = 0, index = 0; index < characters.length; index++) {
    used += cells(characters[index]!);
    if (used > room) break;
    result.push(characters[index]!);
  }
  return result;
}

/** Return the width of a text in mean characters: East Asian ones and emoji are two wide, capitals somewhat wider. */
function cells(text: string): number {
  let sum = 0;
  for (const character of text) sum += character.codePointAt(0)! >= 0x1100 ? 2 : /[A-Zmw@%]/.test(character) ? 1.25 : 1;
  return sum;
}
