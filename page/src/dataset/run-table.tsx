/** Runs that read or wrote a dataset. */

import type { ListedRun } from "../api/answers";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { EmptyWindow } from "../parts/empty";
import { Name, Names } from "../parts/field-name";
import { RunLink } from "../parts/dataset-link";
import { MoreLine } from "../parts/more-line";
import { type Column, Table } from "../parts/table";
import { Time } from "../parts/time";
import { usePages } from "../queries/use-pages";
import type { PageState } from "../state/page-state";

const DID = { backward: "wrote", forward: "read", both: "read and wrote" } as const;
const STATES = { RUNNING: "running", COMPLETE: "complete", FAIL: "failed", ABORT: "aborted" } as const;

export const RUN_COLUMNS: readonly Column<ListedRun>[] = [
  { head: "Started", cell: ({ startTime }) => <Time ms={startTime} /> },
  { head: "State", cell: ({ state }) => <RunStateLabel state={state} /> },
  { head: "Did", cell: ({ direction }) => didText(direction) },
  { head: "Program", cell: ({ namespace, application, program }) => <ProgramName {...{ namespace, application, program }} /> },
  { head: "Run", cell: ({ run, namespace }) => <RunLink run={run} ns={namespace} class="id">{run}</RunLink>, names: true },
];

function RunStateLabel({ state }: { state: ListedRun["state"] }) {
  const isBad = state === "FAIL" || state === "ABORT";
  return <span class={`state ${isBad ? "bad" : ""}`}>{state === undefined ? "unknown" : STATES[state]}</span>;
}

export function ProgramName({ namespace, application, program }: { namespace: string; application: string; program: string }) {
  return (
    <span>
      <Name text={program} /> <span class="of"><Names of={[namespace, application]} between=" › " /></span>
    </span>
  );
}

/** Say in a word what a run did to the dataset. */
export function didText(direction: ListedRun["direction"]): string {
  return DID[direction];
}

export function RunTable({ state }: { state: PageState }) {
  const { ns = "", name = "", field, start, end } = state;
  const list = usePages({ path: paths.datasetRuns(ns, name), params: { start, end, field, limit: 50 } });
  const runs = list.pages.flatMap(({ body }) => body.runs);
  return (
    <Answered of={list.first} lines={12}>
      {() => (
        <>
          {runs.length === 0 ? <EmptyWindow state={state} /> : <Table caption="Runs, newest first" columns={RUN_COLUMNS} rows={runs} rowKey={({ run }) => run} />}
          <MoreLine list={list} what="runs" shown={runs.length} />
        </>
      )}
    </Answered>
  );
}
