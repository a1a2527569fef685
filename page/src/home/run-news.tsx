/** Runs of a day by state: the failed and aborted ones listed, the others counted. */
import type { RunOfProgram, RunState } from "../api/answers";
import { paths } from "../api/paths";
import { formatCount } from "../browser/numbers";
import { ProgramName } from "../dataset/run-table";
import { Skeleton } from "../parts/answered";
import { Banners } from "../parts/banner";
import { RunLink } from "../parts/dataset-link";
import { LimitedTable, More } from "../parts/more";
import { ProblemBox } from "../parts/problem-box";
import { Facts } from "../parts/section";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { type PagesState, usePages } from "../queries/use-pages";
import { describeState } from "../runs/facts";
import type { PageState, WindowText } from "../state/page-state";
import { newestFirst } from "./run-order";

const COUNTED = 100;
/** A page may be empty and have a next one: of the failed and the aborted ones so many are read by themselves. */
const PAGES = 3;
const ROWS_FIRST = 6;

const COLUMNS: readonly Column<RunOfProgram>[] = [
  { head: "Started", names: true, cell: ({ run, namespace, startTime }) => <RunLink run={run} ns={namespace}><Time ms={startTime} /></RunLink> },
  { head: "State", cell: ({ state }) => <span class="state bad">{describeState(state).word}</span> },
  { head: "Program", cell: (run) => <ProgramName {...run} /> },
];

export function RunNews({ day, state: { start, end } }: { day: WindowText; state: PageState }) {
  const newest = useAnswer({ path: paths.runs(), params: { start, end, limit: 1 } });
  const lists = [useRuns("FAIL", day, PAGES), useRuns("ABORT", day, PAGES), useRuns("RUNNING", day), useRuns("COMPLETE", day)] as const;
  const [failed, aborted, running, complete] = lists;
  const bad = newestFirst([failed, aborted].flatMap(({ pages }) => pages.flatMap(({ body }) => body.runs)));
  const [last] = newest.answer?.body.runs ?? [];
  const wrong = [newest, ...lists.map(({ first }) => first)].find(({ problem }) => problem !== undefined);
  if (wrong?.problem) return <ProblemBox problem={wrong.problem} retry={wrong.retry} retryIn={wrong.retryIn} />;
  if (lists.some(({ first }) => first.answer === undefined)) return <Skeleton lines={4} visible={lists.some(({ first }) => first.pending)} />;
  return (
    <div class="report" aria-busy={lists.some(({ first }) => first.isStale)}>
      <Banners answers={[newest.answer, ...lists.flatMap(({ pages }) => pages)]} />
      <Facts
        of={[
          ["Failed", counted(failed, true)],
          ["Aborted", counted(aborted, true)],
          ["Running", counted(running)],
          ["Complete", counted(complete)],
          ["Last run of the window", last ? <RunLink run={last.run} ns={last.namespace}><Time ms={last.startTime} /></RunLink> : newest.answer && "none"],
        ]}
      />
      {bad.length > 0 && <LimitedTable caption="Failed and aborted runs, newest first" columns={COLUMNS} rows={bad} what="runs" first={ROWS_FIRST} />}
      {bad.length === 0 && <p class="quiet">{failed.hasMore || aborted.hasMore ? "None failed or was aborted of those that were read." : "No run failed or was aborted."}</p>}
      <More list={failed} what="failed runs" />
      <More list={aborted} what="aborted runs" />
    </div>
  );
}

type Runs = PagesState<{ runs: RunOfProgram[] }>;

function useRuns(state: RunState, day: WindowText, pages = 1): Runs {
  return usePages({ path: paths.runs(), params: { ...day, state, limit: COUNTED } }, pages);
}

function counted({ pages, hasMore }: Runs, isBad = false) {
  const runs = pages.reduce((sum, { body }) => sum + body.runs.length, 0);
  return <span class={isBad && runs > 0 ? "bad" : undefined}>{formatCount(runs)}{hasMore && "+"}</span>;
}
