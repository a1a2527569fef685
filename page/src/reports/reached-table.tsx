/** The fields of a report as a table, by hops. */
import type { FieldName, ReachedField } from "../api/answers";
import { formatCount } from "../browser/numbers";
import { FieldLink, RunLink } from "../parts/dataset-link";
import { LimitedTable } from "../parts/more";
import { Path } from "../parts/path";
import { Section } from "../parts/section";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { alongTheData, splitByOrder } from "./reached";
import { tagColumns } from "./field-tags";

const VALUE_HELP: Record<NonNullable<ReachedField["value"]>, string> = {
  copied: "Every step of every path copies the value",
  mixed: "Every step of at least one path copies the value, others do not or are not known",
  operations: "Every path has operations: what they do says whether the value can still be read",
};

interface ReachedSectionProps {
  title: string;
  report: "consumption" | "provenance";
  fields: readonly ReachedField[];
  isWhole: boolean;
}

/** Show fields, and apart those that are not in order; nothing without fields. */
export function ReachedSection({ fields, title, ...others }: ReachedSectionProps) {
  const { ordered, unordered } = splitByOrder(fields);
  return (
    <>
      <FieldsSection {...others} title={title} fields={ordered} />
      <FieldsSection {...others} title={`${title}: not in the order of the runs`} fields={unordered} />
    </>
  );
}

function FieldsSection({ title, report, fields, isWhole }: ReachedSectionProps) {
  if (fields.length === 0) return null;
  return (
    <Section title={title} count={fields.length}>
      <LimitedTable caption={title} columns={columns(report, fields)} rows={fields} what="fields" isWhole={isWhole} />
    </Section>
  );
}

function columns(report: "consumption" | "provenance", fields: readonly ReachedField[]): Column<ReachedField>[] {
  return [
    { head: "Hops", cell: ({ hops }) => hops, numeric: true },
    { head: "Field", names: true, cell: (field) => <FieldLink of={field} /> },
    ...tagColumns(fields),
    { head: "Influence", cell: influence },
    { head: "How", cell: ({ operation }) => operation },
    { head: "Value", cell: ({ value }) => value && <span title={VALUE_HELP[value]}>{value}</span> },
    { head: "By way of", cell: ({ path }) => way(alongTheData(path, report)) },
    { head: "Runs", numeric: true, cell: ({ runs }) => runs !== undefined && formatCount(runs) },
    { head: "Last run", cell: ({ lastRun, lastRunNamespace, lastStart }) => lastRun && <RunLink run={lastRun} ns={lastRunNamespace}><Time ms={lastStart ?? 0} /></RunLink> },
  ];
}

function influence({ influence: kind, dropped, failed }: ReachedField) {
  return (
    <>
      {kind === "direct" ? "value" : <span class="only-shaped">only shaped</span>}
      {dropped && <span class="note-word" title="Some run gave it to a transform without outputs">dropped</span>}
      {failed && <span class="failed-only">failed runs only</span>}
    </>
  );
}

/** Show the fields between the two ends. */
function way(path: readonly FieldName[]) {
  return path.length > 2 ? <Path steps={path.slice(1, -1)} /> : <span class="quiet">directly</span>;
}
