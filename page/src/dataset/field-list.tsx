/** The fields of a dataset, with a filter. */

import { useMemo, useState } from "preact/hooks";
import type { ListedField } from "../api/answers";
import { formatCount } from "../browser/numbers";
import { Icon } from "../parts/button";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { useZone } from "../parts/time";
import { VirtualList } from "../parts/virtual-list";
import { replace } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { formatTime } from "../state/window";
import { type FieldRow, fieldRows, type GroupRow } from "./rows";

interface FieldListProps {
  state: PageState;
  fields: readonly ListedField[];
  /** Whether more fields exist than these. */
  isPartial: boolean;
}

export function FieldList({ state, fields, isPartial }: FieldListProps) {
  const [filter, setFilter] = useState("");
  const { field: selected, open = [] } = state;
  const rows = useMemo(() => fieldRows(fields, { filter, open, selected }), [fields, filter, open, selected]);
  const shown = rows.reduce((sum, row) => sum + (row.kind === "field" ? 1 : row.isOpen ? 0 : row.count), 0);
  const position = rows.findIndex((row) => row.kind === "field" && row.field.name === selected);
  return (
    <section class="field-list card" aria-labelledby="fields-title">
      <header>
        <h2 id="fields-title">
          Fields <span class="count">{filter.trim() !== "" && `${formatCount(shown)} of `}{formatCount(fields.length)}{isPartial && "+"}</span>
        </h2>
        <input
          type="search"
          aria-label="Filter fields"
          placeholder="Filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </header>
      <VirtualList
        label="Fields"
        count={rows.length}
        rowKey={(index) => keyOf(rows[index])}
        visible={position}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          return row.kind === "group" ? <Group row={row} open={open} /> : <FieldItem row={row} state={state} />;
        }}
      />
      {rows.length === 0 && <p class="nothing">{fields.length === 0 ? "No fields are recorded." : "No field has this text."}</p>}
    </section>
  );
}

function Group({ row: { name, count, isOpen }, open }: { row: GroupRow; open: readonly string[] }) {
  const toggle = () => replace({ open: isOpen ? open.filter((part) => part !== name) : [...open, name] });
  return (
    <button type="button" class="field-row group" aria-expanded={isOpen} onClick={toggle}>
      <Icon name={isOpen ? "down" : "forth"} />
      <span class="clip">{name}</span>
      <span class="count">{count} nested</span>
    </button>
  );
}

function FieldItem({ row: { field, label, isNested }, state: { ns, name, field: selected } }: { row: FieldRow; state: PageState }) {
  const isSelected = field.name === selected;
  return (
    <div class={`field-row${isNested ? " nested" : ""}${isSelected ? " selected" : ""}`}>
      <Link to={{ field: isSelected ? undefined : field.name }} inPlace class="pick" current={isSelected ? "true" : undefined} title={field.name}>
        <span class="clip">{label}</span> <FieldType field={field} />
      </Link>
      <Link to={{ view: "graph", ns, name, field: field.name }} class="action" label={`Graph of ${field.name}`}>
        Graph
      </Link>
      <Link to={{ view: "operations", ns, name, field: field.name }} class="action" label={`Operations of ${field.name}`}>
        Operations
      </Link>
    </div>
  );
}

/** The type of a field; of one that the newest schema does not have, the day on which it was written last. */
function FieldType({ field: { type, dropped, lastWritten } }: { field: ListedField }) {
  const zone = useZone();
  if (dropped !== true) return <span class="type" title={type}>{type}</span>;
  if (lastWritten === undefined) return <span class="type">dropped</span>;
  const time = formatTime(lastWritten / 1000, zone);
  return <span class="type" title={`dropped; last written ${time}`}>last written {time.slice(0, 10)}</span>;
}

/** The selected field, with its whole name and what can be asked about it. */
export function SelectedField({ state: { ns, name, field } }: { state: PageState }) {
  if (field === undefined) return null;
  return (
    <p class="selected-field">
      Pairs of <strong><Name text={field} whole /></strong>
      <Link to={{ view: "graph", ns, name, field }}>Graph</Link>
      <Link to={{ view: "operations", ns, name, field }}>Operations</Link>
      <Link to={{ view: "report", ns, name, field }}>Reports</Link>
      <Link to={{ view: "impact", ns, name, field }}>Impact</Link>
      <Link to={{ view: "tags", ns, name, field }}>Tags</Link>
      <Link to={{ field: undefined }} inPlace>All fields</Link>
    </p>
  );
}

function keyOf(row: FieldRow | GroupRow | undefined): string {
  if (row === undefined) return "";
  return row.kind === "group" ? `group ${row.name}` : `field ${row.field.name}`;
}
