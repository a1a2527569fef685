/** The provenance report: where a field comes from, by which operations, and since when in this way. */
import { useMemo, useState } from "preact/hooks";
import type { Provenance, Step, Stretch } from "../api/answers";
import { paths } from "../api/paths";
import { count, formatCount } from "../browser/numbers";
import { PROGRAM_COLUMNS } from "../dataset/program-table";
import { Description } from "../operations/description";
import { OperationList } from "../operations/operation-list";
import { rowsOfField } from "../operations/rows";
import { Answered } from "../parts/answered";
import { FieldLink, RunLink } from "../parts/dataset-link";
import { EmptyWindow } from "../parts/empty";
import { Name } from "../parts/field-name";
import { LimitedTable } from "../parts/more";
import { Section } from "../parts/section";
import { type Column, Table } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { ReachedSection } from "./reached-table";
import { ReportHead } from "./report-head";
import { fieldReportParams, type FieldReportProps, UnknownColumns, UnknownRelations } from "./report-parts";
import { subjectFacts } from "./field-tags";

const STRETCHES: readonly Column<Stretch>[] = [
  { head: "First run", names: true, cell: ({ firstRun, firstRunNamespace, firstStart }) => <RunLink run={firstRun} ns={firstRunNamespace}><Time ms={firstStart} /></RunLink> },
  { head: "Last run", cell: ({ lastRun, lastRunNamespace, lastStart }) => <RunLink run={lastRun} ns={lastRunNamespace}><Time ms={lastStart} /></RunLink> },
  { head: "Runs", numeric: true, cell: ({ runs }) => formatCount(runs) },
  { head: "Content", cell: ({ checksum }) => <code>{checksum}</code> },
];

const STEPS: readonly Column<Step>[] = [
  { head: "Operation", names: true, cell: ({ name }) => <Name text={name} /> },
  { head: "Description", cell: ({ description }) => <Description text={description} /> },
  { head: "Takes", cell: ({ inputs }) => inputs.join(", ") },
  { head: "Makes", cell: ({ outputs }) => outputs.join(", ") },
];

export function ProvenanceReport(props: FieldReportProps) {
  const { field, state } = props;
  const path = paths.provenance();
  const params = fieldReportParams(props);
  const report = useAnswer({ path, params: { ...params, start: state.start, end: state.end } });
  const [isWhole, setWhole] = useState(false);
  return (
    <Answered of={report} lines={14}>
      {(answer) => (
        <article class="report">
          <ReportHead
            title={<>Provenance of <FieldLink of={field} /></>}
            answer={answer}
            facts={subjectFacts(answer.body.field)}
            path={path}
            params={params}
            csv={["sources", "upstream", "programs", "stretches"]}
            names={["provenance", field.namespace, field.name, field.field]}
            hasPage
            setWhole={setWhole}
          />
          {answer.body.programs.length + (answer.body.programsWithUnknownColumns ?? []).length === 0 ? (
            <EmptyWindow state={state} what="No run wrote this field" />
          ) : (
            <p class="report-summary">{answer.body.verdict}</p>
          )}
          <UnknownRelations relations={answer.body.unknown} />
          <Sections body={answer.body} isWhole={isWhole} />
        </article>
      )}
    </Answered>
  );
}

function Sections({ body, isWhole }: { body: Provenance; isWhole: boolean }) {
  const { sources, upstream, programs, programsWithUnknownColumns = [], stretches, derivations, detailed, field } = body;
  const rows = useMemo(() => rowsOfField(detailed), [detailed]);
  return (
    <>
      <ReachedSection title="Sources" report="provenance" fields={sources} isWhole={isWhole} />
      <ReachedSection title="Fields between" report="provenance" fields={upstream} isWhole={isWhole} />
      {programs.length > 0 && (
        <Section title="Programs that wrote it" count={programs.length}>
          <Table caption="Programs that wrote it" columns={PROGRAM_COLUMNS} rows={programs} />
        </Section>
      )}
      <UnknownColumns title="Programs that may have written it" programs={programsWithUnknownColumns} />
      {rows.length > 0 && (
        <Section title="Operations of the last hop" count={rows.length}>
          <OperationList rows={rows} asked={field} isWhole={isWhole} />
        </Section>
      )}
      {stretches.length > 0 && (
        <Section title="Stretches of runs that made it in the same way" count={stretches.length}>
          <LimitedTable caption="Stretches, newest first" columns={STRETCHES} rows={stretches} what="stretches" isWhole={isWhole} />
        </Section>
      )}
      {/* One way alone is the operations above. */}
      {derivations.length > 1 &&
        derivations.map(({ operations, runCount }, index) => (
          <Section key={index} title={`Way ${index + 1} of ${derivations.length}`} note={count(runCount, "run")}>
            <LimitedTable caption={`Operations of way ${index + 1}`} columns={STEPS} rows={operations} what="operations" isWhole={isWhole} />
          </Section>
        ))}
    </>
  );
}
