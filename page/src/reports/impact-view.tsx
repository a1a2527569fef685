/** What is downstream of a change of one field: fields, datasets, and programs with their last run. */
import type { Downstream, FieldName, Impact, ImpactedField, ImpactedProgram } from "../api/answers";
import { ApiProblem } from "../api/client";
import { paths } from "../api/paths";
import { formatCount } from "../browser/numbers";
import { ProgramName } from "../dataset/run-table";
import { Answered } from "../parts/answered";
import { DatasetLink, FieldLink, RunLink } from "../parts/dataset-link";
import { Limited } from "../parts/limited";
import { LimitedTable } from "../parts/more";
import { Section } from "../parts/section";
import type { Column } from "../parts/table";
import { TextForm } from "../parts/text-form";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { push } from "../state/navigation";
import type { Change, PageState } from "../state/page-state";
import { NEW_TEXT, problemOfForm, summarize } from "./impact";
import { UnknownRelations } from "./report-parts";

const DATASETS_FIRST = 20;

const FIELDS: readonly Column<ImpactedField>[] = [
  { head: "Field", names: true, cell: (field) => <FieldLink of={field} /> },
  { head: "Hops", numeric: true, cell: ({ hops }) => hops },
  { head: "Influence", cell: ({ influence }) => (influence === "direct" ? "direct" : <span class="only-shaped">indirect</span>) },
];

const PROGRAMS: readonly Column<ImpactedProgram>[] = [
  { head: "Program", names: true, cell: (program) => <ProgramName {...program} /> },
  { head: "Type", cell: ({ type }) => type },
  { head: "Last run", cell: ({ namespace, lastRun, lastStart }) => <RunLink run={lastRun} ns={namespace}><Time ms={lastStart} /></RunLink> },
];
/** Only where some program does not report which fields it used. */
const UNKNOWN: Column<ImpactedProgram> = { head: "Fields", cell: ({ unknown }) => unknown && <span class="quiet">not reported</span> };

interface ImpactViewProps {
  field: FieldName;
  change: Change;
  state: PageState;
}

export function ImpactView({ field, change, state: { start, end, to } }: ImpactViewProps) {
  const label = NEW_TEXT[change];
  const isComplete = label === undefined || to !== undefined;
  const text = label === undefined ? undefined : to;
  const answer = useAnswer(
    isComplete ? { path: paths.impact(), params: { start, end }, body: { fields: [{ ...field, change, to: text }] } } : null,
  );
  const problem = problemOfForm(answer.problem);
  const isOfText = problem instanceof ApiProblem && problem.errors.some(({ at }) => at === "to");
  return (
    <>
      {label !== undefined && (
        <TextForm label="Change" fields={[{ key: "to", label }]} initial={{ to }} action="Show the impact" problem={problem} submit={push} />
      )}
      {isComplete && !isOfText && (
        <Answered of={{ ...answer, problem }} lines={12}>
          {({ body }) => <Changes impact={body} />}
        </Answered>
      )}
    </>
  );
}

function Changes({ impact: { changes } }: { impact: Impact }) {
  const [change] = changes;
  if (change === undefined) return <p class="report-summary">No change: this is the recorded type.</p>;
  const { downstream, old } = change;
  return (
    <article class="report">
      {old?.type && <p>The recorded type is {old.type}.</p>}
      {downstream === undefined ? <p class="report-summary">Not known: a limit was reached before it was read.</p> : <Everything downstream={downstream} />}
    </article>
  );
}

function Everything({ downstream }: { downstream: Downstream }) {
  const { fields, fieldCount, datasets, programs, unknown } = downstream;
  return (
    <>
      <p class="report-summary">{summarize(downstream)}</p>
      <UnknownRelations relations={unknown} />
      {programs.length > 0 && (
        <Section title="Programs" count={formatCount(programs.length)} note="that read the field, or a field downstream of it; newest run first">
          <LimitedTable caption="Programs" columns={programs.some((program) => program.unknown) ? [...PROGRAMS, UNKNOWN] : PROGRAMS} rows={programs} what="programs" />
        </Section>
      )}
      {datasets.length > 0 && (
        <Section title="Datasets" count={formatCount(datasets.length)}>
          <Limited items={datasets} first={DATASETS_FIRST} what="datasets">
            {(shown) => (
              <ul>
                {shown.map((dataset, index) => (
                  <li key={index}><DatasetLink of={dataset} /></li>
                ))}
              </ul>
            )}
          </Limited>
        </Section>
      )}
      {fields.length > 0 && (
        <Section title="Fields" count={formatCount(fieldCount)} note={fields.length < fieldCount ? `the nearest ${formatCount(fields.length)} are listed` : undefined}>
          <LimitedTable caption="Fields" columns={FIELDS} rows={fields} what="fields" />
        </Section>
      )}
    </>
  );
}
