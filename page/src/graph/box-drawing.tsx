/** A dataset as a box with its fields. */

import { memo } from "../browser/memo";
import type { FoldedBox } from "./fold";
import { describeField } from "./keys";
import { isUnordered, labelOf, type Field } from "./model";
import { HEADER, heightOf, ROW } from "./scene";
import { DATASET_CHARACTER, FIELD_CHARACTER, fitText, noteOf } from "./text";
import type { Light } from "./trace";

interface BoxProps {
  index: number;
  folded: FoldedBox;
  width: number;
  /** A letter for each row that is shown: `v`alue, only `s`haped, `l`ate, or `-`. */
  lights: string;
  /** The selected row, -1 for the box itself, and the row in focus, where -1 is the row of hidden fields. */
  selected: number | undefined;
  focus: number | undefined;
}

export const BoxDrawing = memo(DrawBox);

function DrawBox({ index, folded, width, lights, selected, focus }: BoxProps) {
  const { box, shown, hidden } = folded;
  const isOn = /[vsl]/.test(lights) || selected !== undefined;
  return (
    <g class={["box", isOn && "on", selected === -1 && "selected"].filter(Boolean).join(" ")} data-box={index} role="group" aria-label={box.name}>
      <rect class="frame" width={width} height={heightOf(folded)} rx="7" />
      <Label class="dataset" text={box.name} y={19} width={width - 24} character={DATASET_CHARACTER} />
      <Label class="namespace" text={box.namespace} y={34} width={width - (hidden > 0 ? 100 : 24)} character={6.2} />
      {hidden > 0 && shown.length > 0 && (
        <text class="share" x={width - 12} y={34}>
          {shown.length} of {shown.length + hidden}
        </text>
      )}
      {shown.map((field, row) => (
        <FieldRow
          key={row}
          field={field}
          light={LIGHTS[lights[row] ?? "-"]}
          row={row}
          width={width}
          isSelected={selected === row}
          isFocus={focus === row}
        />
      ))}
      {hidden > 0 && <MoreRow hidden={hidden} row={shown.length} width={width} isFocus={focus === -1} hasShown={shown.length > 0} />}
    </g>
  );
}

const LIGHTS: Record<string, Light | undefined> = { v: "value", s: "shape", l: "late" };

interface RowProps {
  field: Field;
  light: Light | undefined;
  row: number;
  width: number;
  isSelected: boolean;
  isFocus: boolean;
}

function FieldRow({ field, light, row, width, isSelected, isFocus }: RowProps) {
  const [y, note] = [HEADER + row * ROW, noteOf(field)];
  const room = width - 24 - (note && (note.length + 1) * FIELD_CHARACTER || 0);
  const isFailed = [...field.into, ...field.out].length > 0 && [...field.into, ...field.out].every((link) => link.failed);
  return (
    <>
      <rect
        class={["row", light, isSelected && "selected"].filter(Boolean).join(" ")}
        x="4"
        y={y}
        width={width - 8}
        height={ROW}
        rx="4"
        data-row={row}
        role="button"
        // Not `tabIndex`: SVG elements have no such property, and Preact writes the name as it is.
        tabindex={isFocus ? 0 : -1}
        aria-pressed={isSelected}
        aria-label={describeField(field, isSelected ? undefined : light) + (isFailed ? ", failed runs only" : "")}
      />
      <Label class={["field", isFailed ? "failed" : labelOf(field) !== field.name && "every", isUnordered(field) && "unordered"].filter(Boolean).join(" ")} text={labelOf(field)} y={y + 15} width={room} character={FIELD_CHARACTER} />
      {note && (
        <text class="note" x={width - 12} y={y + 15}>
          {note}
        </text>
      )}
    </>
  );
}

function MoreRow({ hidden, row, width, isFocus, hasShown }: { hidden: number; row: number; width: number; isFocus: boolean; hasShown: boolean }) {
  const y = HEADER + row * ROW;
  const text = hasShown ? `${hidden.toLocaleString("en")} more` : `${hidden.toLocaleString("en")} field${hidden === 1 ? "" : "s"}`;
  return (
    <>
      <rect class="row" x="4" y={y} width={width - 8} height={ROW} rx="4" data-row={-1} role="button" tabindex={isFocus ? 0 : -1} aria-label={`${text}: show them`} />
      <text class="more" x="12" y={y + 15}>
        {text}
      </text>
    </>
  );
}

function Label({ text, y, width, character, ...rest }: { class: string; text: string; y: number; width: number; character: number }) {
  const shown = fitText(text, width, character);
  return (
    <text {...rest} x="12" y={y}>
      {shown}
      {shown !== text && <title>{text}</title>}
    </text>
  );
}
