/** The consumption report: which programs and runs read a field, and every field that was made of it. */
import { useState } from "preact/hooks";
import { paths } from "../api/paths";
import { PROGRAM_COLUMNS } from "../dataset/program-table";
import { RUN_COLUMNS } from "../dataset/run-table";
import { Answered } from "../parts/answered";
import { FieldLink } from "../parts/dataset-link";
import { EmptyWindow } from "../parts/empty";
import { More } from "../parts/more";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { usePages } from "../queries/use-pages";
import { ReachedSection } from "./reached-table";
import { ReportHead } from "./report-head";
import { fieldReportParams, type FieldReportProps, UnknownColumns, UnknownRelations } from "./report-parts";
import { subjectFacts } from "./field-tags";

const RUNS_PAGE = 50;

export function ConsumptionReport(props: FieldReportProps) {
  const { field, state } = props;
  const path = paths.consumption();
  const params = fieldReportParams(props);
  const list = usePages({ path, params: { ...params, start: state.start, end: state.end, limit: RUNS_PAGE } });
  const [isWhole, setWhole] = useState(false);
  return (
    <Answered of={list.first} lines={14}>
      {(answer) => {
        const { programs = [], programsWithUnknownColumns: maybe = [], derived = [], dropped, unknown } = answer.body;
        const runs = list.pages.flatMap(({ body }) => body.runs);
        return (
          <article class="report">
            <ReportHead
              title={<>Consumption of <FieldLink of={field} /></>}
              answer={answer}
              facts={subjectFacts(answer.body.field)}
              path={path}
              params={params}
              csv={["derived", "programs", "days", "runs"]}
              names={["consumption", field.namespace, field.name, field.field]}
              hasPage
              setWhole={setWhole}
            />
            {runs.length + derived.length + maybe.length === 0 ? (
              <EmptyWindow state={state} what="No run read this field" />
            ) : (
              <p class="report-summary">{answer.body.verdict}</p>
            )}
            {dropped && <p>Some run dropped it: it gave it to a transform without outputs.</p>}
            <UnknownRelations relations={unknown} />
            {programs.length > 0 && (
              <Section title="Programs that read it" count={programs.length}>
                <Table caption="Programs that read it" columns={PROGRAM_COLUMNS} rows={programs} />
              </Section>
            )}
            <UnknownColumns title="Programs that may have read it" programs={maybe} />
            <ReachedSection title="Fields made of it" report="consumption" fields={derived} isWhole={isWhole} />
            {runs.length > 0 && (
              <Section title="Runs that read it" count={`${runs.length}${list.hasMore ? "+" : ""}`} note="newest first">
                <Table caption="Runs that read it" columns={RUN_COLUMNS} rows={runs} rowKey={({ run }) => run} />
                <More list={list} what="runs" />
              </Section>
            )}
          </article>
        );
      }}
    </Answered>
  );
}
