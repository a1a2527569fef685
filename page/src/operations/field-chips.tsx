/** The fields that an operation takes and makes. */
import type { DatasetName, FieldName } from "../api/answers";
import { FieldLabel, Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Link } from "../parts/link";
import type { OperationRow, RowInput, RowOutput } from "./rows";

const CHIPS_FIRST = 12;
const DATASETS_FIRST = 6;

interface InputsProps {
  inputs: readonly RowInput[];
  /** Go to the operation of a name. */
  goTo: (origin: string) => void;
}

/** Fields taken; each leads to the operation that made it. */
export function InputChips({ inputs, goTo }: InputsProps) {
  return (
    <Limited items={inputs} first={CHIPS_FIRST} what="fields">
      {(shown) => (
        <ul class="chips">
          {shown.map((input, index) => (
            <li key={index}>
              <button type="button" class={chipStyle(input)} onClick={() => goTo(input.origin)}>
                <FieldLabel field={input.field} absent="generated" />{" "}
                <span class="chip-note">
                  from <Name text={input.origin} />
                  {input.indirect && `, ${(input.kind ?? "indirect").replace("_", " ")}`}
                  {input.failed && ", failed runs only"}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

interface OutputsProps {
  row: OperationRow;
  /** The field that the screen is about. */
  asked?: FieldName;
}

/** Fields made: those of a READ lead to how they were made, written ones to what was made of them. */
export function OutputChips({ row, asked }: OutputsProps) {
  return (
    <Limited items={row.outputs} first={CHIPS_FIRST} what="fields">
      {(shown) => (
        <ul class="chips">
          {shown.map((output, index) => (
            <li key={index}>
              <span class={`${chipStyle(output)}${isAsked(row, output, asked) ? " asked" : ""}`}>
                <ReadField row={row} output={output} asked={asked} />{" "}
                {output.type && <span class="chip-note">{output.type}</span>}
                {output.failed && <span class="chip-note"> failed runs only</span>}
              </span>
              <WrittenTo output={output} asked={asked} />
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

function ReadField({ row, output, asked }: OutputsProps & { output: RowOutput }) {
  const label = <FieldLabel field={output.field} absent="generated" />;
  if (row.type !== "READ" || row.dataset === undefined || isAsked(row, output, asked)) return label;
  const { namespace, name } = row.dataset;
  return (
    <Link to={{ view: "operations", ns: namespace, name, field: output.field }} title={`How ${output.field} was made`}>
      {label}
    </Link>
  );
}

function WrittenTo({ output, asked }: { output: RowOutput; asked?: FieldName }) {
  const others = output.writtenTo.filter((dataset) => !isField(asked, dataset, output.field));
  return (
    <Limited items={others} first={DATASETS_FIRST} what="datasets">
      {(shown) =>
        // One arrow: with one before each name they would read as a chain.
        shown.map(({ namespace, name }, index) => (
          <span key={JSON.stringify([namespace, name])} class="written-to">
            {index === 0 ? " → " : ", "}
            <Link
              to={{ view: "operations", ns: namespace, name, field: output.field, direction: "forward" }}
              title={`What was made of ${output.field} of ${namespace}/${name}`}
            >
              <Name text={name} />
            </Link>
          </span>
        ))
      }
    </Limited>
  );
}

function isAsked(row: OperationRow, output: RowOutput, asked: FieldName | undefined): boolean {
  if (row.type === "READ" && row.dataset && isField(asked, row.dataset, output.field)) return true;
  return output.writtenTo.some((dataset) => isField(asked, dataset, output.field));
}

function isField(asked: FieldName | undefined, { namespace, name }: DatasetName, field: string): boolean {
  return asked?.namespace === namespace && asked.name === name && asked.field === field;
}

function chipStyle({ failed, ...of }: RowInput | RowOutput): string {
  return `chip${"indirect" in of && of.indirect ? " indirect" : ""}${failed ? " failed" : ""}`;
}
