/** Operations in order, with the chain that links them drawn beside. */
import { useMemo, useRef } from "preact/hooks";
import type { FieldName, OperationType } from "../api/answers";
import { DatasetLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Description } from "./description";
import { InputChips, OutputChips } from "./field-chips";
import { layOutRail, type RailRow } from "./rail";
import { RailCell } from "./rail-cell";
import type { OperationRow } from "./rows";

const ROWS_FIRST = 250;
const DOES: Record<OperationType, string> = { READ: "reads", TRANSFORM: "transforms", WRITE: "writes" };

interface OperationListProps {
  rows: readonly OperationRow[];
  /** The field that the screen is about: it is marked. */
  asked?: FieldName;
  /** Show all of them: for paper. */
  isWhole?: boolean;
}

export function OperationList({ rows, asked, isWhole }: OperationListProps) {
  const items = useRef(new Map<string, HTMLElement>());
  const rail = useMemo(() => layOutRail(rows), [rows]);
  const goTo = (name: string) => {
    const item = items.current.get(name);
    item?.focus({ preventScroll: true });
    item?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Limited items={rows} first={ROWS_FIRST} what="operations" isWhole={isWhole}>
      {(shown) => (
        <ol class={`operations${rail && rail.lanes > 3 ? " many-lanes" : ""}`}>
          {shown.map((row, index) => (
            <li
              key={row.name}
              class={row.failed ? "operation failed" : "operation"}
              tabIndex={-1}
              ref={(item) => void (item && items.current.set(row.name, item))}
            >
              {rail && <RailCell row={rail.rows[index] as RailRow} lanes={rail.lanes} type={row.type} failed={row.failed} />}
              <div class="operation-head">
                <Head row={row} />
                <Description text={row.description} />
              </div>
              <Fields row={row} asked={asked} goTo={goTo} />
            </li>
          ))}
        </ol>
      )}
    </Limited>
  );
}

function Head({ row: { name, type, dataset, failed } }: { row: OperationRow }) {
  return (
    <div class="operation-title">
      <h3>
        <Name text={name} />
      </h3>
      <span>
        <span class={`operation-type ${type.toLowerCase()}`}>{DOES[type]}</span> {dataset && <DatasetLink of={dataset} />}
      </span>
      {failed && <span class="failed-only">failed runs only</span>}
    </div>
  );
}

function Fields({ row, asked, goTo }: { row: OperationRow; asked?: FieldName; goTo: (origin: string) => void }) {
  const { inputs, outputs, type } = row;
  if (inputs.length + outputs.length === 0) return null;
  return (
    <dl class="operation-fields">
      {inputs.length > 0 && (
        <div>
          <dt>{type === "WRITE" ? "Writes" : "Takes"}</dt>
          <dd>
            <InputChips inputs={inputs} goTo={goTo} />
          </dd>
        </div>
      )}
      {outputs.length > 0 && (
        <div>
          <dt>{type === "READ" ? "Reads" : "Makes"}</dt>
          <dd>
            <OutputChips row={row} asked={asked} />
          </dd>
        </div>
      )}
    </dl>
  );
}
