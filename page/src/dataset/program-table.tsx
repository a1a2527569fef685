/** Programs that read or wrote a dataset. */

import type { Program } from "../api/answers";
import { paths } from "../api/paths";
import { formatCount } from "../browser/numbers";
import { Answered } from "../parts/answered";
import { EmptyWindow } from "../parts/empty";
import { RunLink } from "../parts/dataset-link";
import { type Column, Table } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import type { PageState } from "../state/page-state";
import { didText, ProgramName } from "./run-table";

export const PROGRAM_COLUMNS: readonly Column<Program>[] = [
  { head: "Program", cell: programCell, names: true },
  { head: "Type", cell: ({ type }) => type },
  { head: "Did", cell: ({ direction }) => didText(direction) },
  { head: "Runs", cell: ({ runs }) => formatCount(runs), numeric: true },
  { head: "Failed", cell: ({ failed }) => <span class={failed > 0 ? "bad" : "of"}>{formatCount(failed)}</span>, numeric: true },
  { head: "First start", cell: ({ firstStart }) => <Time ms={firstStart} /> },
  { head: "Last start", cell: ({ namespace, lastStart, lastRun }) => <RunLink run={lastRun} ns={namespace}><Time ms={lastStart} /></RunLink> },
];

function programCell({ namespace, application, program, failedOnly }: Program) {
  return (
    <>
      <ProgramName {...{ namespace, application, program }} />
      {failedOnly && <span class="failed-only">failed runs only</span>}
    </>
  );
}

export function ProgramTable({ state }: { state: PageState }) {
  const { ns = "", name = "", field, start, end, failed } = state;
  const programs = useAnswer({ path: paths.programs(ns, name), params: { start, end, field, failed } });
  return (
    <Answered of={programs} lines={8}>
      {({ body: { programs: listed, programsWithUnknownColumns: maybe = [] } }) => (
        <>
          {listed.length + maybe.length === 0 && <EmptyWindow state={state} />}
          {listed.length > 0 && <Table caption="Programs" columns={PROGRAM_COLUMNS} rows={listed} />}
          {maybe.length > 0 && <Table caption="Programs that do not report whether they used the field" showCaption columns={PROGRAM_COLUMNS} rows={maybe} />}
        </>
      )}
    </Answered>
  );
}
