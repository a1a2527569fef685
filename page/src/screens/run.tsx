/** All that is recorded of one run. */
import { useMemo } from "preact/hooks";
import type { RunDetails } from "../api/answers";
import { paths } from "../api/paths";
import { Code } from "../operations/description";
import { OperationList } from "../operations/operation-list";
import { rowsOfRun } from "../operations/rows";
import { Answered } from "../parts/answered";
import { Icon } from "../parts/button";
import { Empty } from "../parts/empty";
import { Name } from "../parts/field-name";
import { LimitedTable } from "../parts/more";
import { Section } from "../parts/section";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { RunDatasets } from "../runs/datasets";
import { describeState, hasFailed } from "../runs/facts";
import { RunFacts } from "../runs/run-facts";
import type { PageState } from "../state/page-state";

const EVENTS: readonly Column<NonNullable<RunDetails["events"]>[number]>[] = [
  { head: "Time", names: true, cell: ({ eventTime }) => <Time ms={eventTime} /> },
  { head: "Event", cell: ({ eventType }) => eventType },
];

export function RunScreen({ state: { ns, run } }: { state: PageState }) {
  const details = useAnswer(run === undefined ? null : { path: ns === undefined ? paths.run(run) : paths.namespaceRun(ns, run) });
  if (run === undefined) {
    return (
      <>
        <h1>Run</h1>
        <Empty title="No run is chosen">
          <p>The runs of a dataset are listed on its screen, under Runs.</p>
        </Empty>
      </>
    );
  }
  return (
    <div class="run-screen">
      <header class="place">
        <p class="quiet">Run</p>
        <h1>
          <Name text={run} whole />
        </h1>
      </header>
      <Answered of={details} lines={14}>
        {({ body }) => <Run run={body} />}
      </Answered>
    </div>
  );
}

function Run({ run }: { run: RunDetails }) {
  const rows = useMemo(() => rowsOfRun(run.operations), [run]);
  return (
    <>
      <RunState run={run} />
      <RunFacts run={run} />
      <RunDatasets run={run} />
      {run.sql !== undefined && (
        <Section title="SQL">
          <Code text={run.sql} label="SQL of the run" />
        </Section>
      )}
      <Section title="Operations" count={rows.length}>
        {rows.length === 0 ? <p class="quiet">No operations are recorded.</p> : <OperationList rows={rows} />}
      </Section>
      {run.events && (
        <Section title="Events" count={run.events.length}>
          <LimitedTable caption="Events, in their order" columns={EVENTS} rows={run.events} what="events" />
        </Section>
      )}
    </>
  );
}

/** The state in words; of a failed run also its error. */
function RunState({ run }: { run: RunDetails }) {
  const { word, meaning } = describeState(run.state);
  const isBad = hasFailed(run);
  return (
    <section class={`run-state ${isBad ? "failed" : ""}`} aria-label="State">
      <p>
        {isBad && <Icon name="warning" />}
        <strong>{word}.</strong> <span class="quiet">{meaning}</span>
      </p>
      {run.errorMessage !== undefined && <Code text={run.errorMessage} label="Error message" />}
      {isBad && run.errorMessage === undefined && <p class="quiet">No error message is recorded.</p>}
    </section>
  );
}
