/** The retention report: where data of a policy's fields, or made of them, is older than the policy allows. */
import { useState } from "preact/hooks";
import type { ExpiredField, FieldWithTags } from "../api/answers";
import { paths } from "../api/paths";
import { formatCount } from "../browser/numbers";
import { ProgramName } from "../dataset/run-table";
import { Answered } from "../parts/answered";
import { FieldLink, RunLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { Switch } from "../parts/filters";
import { LimitedTable } from "../parts/more";
import { Path } from "../parts/path";
import { Section } from "../parts/section";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { PolicySubject } from "./policy-table";
import { ReportHead } from "./report-head";
import { subjectFacts, tagColumns } from "./field-tags";

const FIELD: Column<FieldWithTags> = { head: "Field", names: true, cell: (field) => <FieldLink of={field} /> };

const HISTORY: readonly Column<ExpiredField>[] = [
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
        const { fields, complying, verdict, policy: stored, field } = answer.body;
        return (
          <article class="report">
            <ReportHead
              title={<>Retention under <Name text={policy} whole /></>}
              answer={answer}
              facts={[["Data may live", stored.maxAge], ["It is about", <PolicySubject policy={stored} />], ...subjectFacts(field)]}
              path={path}
              params={params}
              csv={[]}
              names={["retention", policy]}
              hasPage
              setWhole={setWhole}
            />
            <Switch label="Failed runs" hint="Count failed and aborted runs, too" on={state.failed} set={(failed) => push({ failed })} />
            <p class="report-summary">{verdict}</p>
            {fields.length > 0 && (
              <Section title="Fields with older data" count={fields.length} note="whether it was deleted since is not recorded">
                <LimitedTable caption="Fields with older data" columns={[FIELD, ...tagColumns(fields), ...HISTORY]} rows={fields} what="fields" isWhole={isWhole} />
              </Section>
            )}
            {complying.length > 0 && (
              <Section title="Fields without a known older run" count={complying.length}>
                <LimitedTable caption="Fields without a known older run" columns={[FIELD, ...tagColumns(complying)]} rows={complying} what="fields" isWhole={isWhole} />
              </Section>
            )}
          </article>
        );
      }}
    </Answered>
  );
}
