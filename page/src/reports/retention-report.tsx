/** The retention report: where data of a policy's fields, or made of them, is older than the policy allows. */
import { useState } from "preact/hooks";
import type { ExpiredField } from "../api/answers";
import { paths } from "../api/paths";
import { count, formatCount } from "../browser/numbers";
import { ProgramName } from "../dataset/run-table";
import { Answered } from "../parts/answered";
import { FieldLink, RunLink } from "../parts/dataset-link";
import { Empty } from "../parts/empty";
import { Name } from "../parts/field-name";
import { Switch } from "../parts/filters";
import { LimitedTable } from "../parts/more";
import { Path } from "../parts/path";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { PolicySubject } from "./policy-table";
import { ReportHead } from "./report-head";

const COLUMNS: readonly Column<ExpiredField>[] = [
  { head: "Field", names: true, cell: (field) => <FieldLink of={field} /> },
  { head: "By way of", cell: ({ path }) => (path.length < 2 ? <span class="quiet">the policy's own field</span> : <Path steps={path} />) },
  { head: "Old runs", numeric: true, cell: ({ runs }) => formatCount(runs) },
  { head: "Oldest", cell: ({ namespace, oldestRun, oldestStart }) => <RunLink run={oldestRun} ns={namespace}><Time ms={oldestStart} /></RunLink> },
  { head: "Newest", cell: ({ namespace, newestRun, newestStart }) => <RunLink run={newestRun} ns={namespace}><Time ms={newestStart} /></RunLink> },
  { head: "Written by", cell: ({ programs }) => programs.map((program, index) => <div key={index}><ProgramName {...program} /></div>) },
];

export function RetentionReport({ policy, state }: { policy: string; state: PageState }) {
  const path = paths.retention();
  // All time: old data is what the report is about, whatever window the page has.
  const params = { policy, failed: state.failed };
  const report = useAnswer({ path, params });
  const [isWhole, setWhole] = useState(false);
  return (
    <Answered of={report} lines={14}>
      {(answer) => {
        const { fields, policy: stored } = answer.body;
        return (
          <article class="report">
            <ReportHead
              title={<>Retention under <Name text={policy} whole /></>}
              answer={answer}
              facts={[["Data may live", stored.maxAge], ["It is about", <PolicySubject policy={stored} />]]}
              path={path}
              params={params}
              csv={[]}
              names={["retention", policy]}
              setWhole={setWhole}
            />
            <Switch label="Failed runs" hint="Count failed and aborted runs, too" on={state.failed} set={(failed) => push({ failed })} />
            {fields.length === 0 ? (
              <Empty title="Nothing is older than the policy allows">
                <p>No stored run wrote a field of the policy before its data became too old.</p>
              </Empty>
            ) : (
              <>
                <p class="report-summary">
                  Runs wrote {count(fields.length, "field")} longer ago than the policy allows. Whether the data was deleted since then is not recorded.
                </p>
                <LimitedTable caption="Fields with older data" columns={COLUMNS} rows={fields} what="fields" isWhole={isWhole} />
              </>
            )}
          </article>
        );
      }}
    </Answered>
  );
}
