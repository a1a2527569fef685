/** Two windows compared: the pairs of their lineage, and the fields of a dataset that were made in other ways. */

import { useMemo } from "preact/hooks";
import { paths } from "../api/paths";
import { BaseWindow } from "../graph/base-window";
import { compareGraphs, countChanges } from "../graph/compare";
import { Explorer, levelOf } from "../graph/explorer";
import { saveGraph } from "../graph/export";
import { useGraph, type GraphState } from "../graph/use-graph";
import { ChangedFields } from "../operations/changed-fields";
import { PrintedDiff } from "../operations/printed-diff";
import { comparedParams } from "../operations/query";
import { Answered, Skeleton } from "../parts/answered";
import { Banners } from "../parts/banner";
import { Empty } from "../parts/empty";
import { ProblemBox } from "../parts/problem-box";
import { Choice, type Option } from "../parts/tabs";
import { useAnswer } from "../queries/use-answer";
import type { PageState } from "../state/page-state";
import { pinWindow, stepWindow } from "../state/window";

/** What is compared of a dataset. */
type Compared = "lineage" | "fields";

const COMPARED: readonly Option<Compared>[] = [
  { key: "lineage", label: "Lineage" },
  { key: "fields", label: "Fields that differ" },
];

export function CompareScreen({ state }: { state: PageState }) {
  const { ns, name, field, tab } = state;
  if (ns === undefined || name === undefined) return <Empty title="No dataset is chosen" />;
  // A field has its own diff beside its operations.
  if (field !== undefined) return <LineageComparison state={state} />;
  const compared: Compared = tab === "fields" ? tab : "lineage";
  return (
    <>
      <div class="screen-bar">
        <Choice label="What is compared" options={COMPARED} current={compared} to={(key) => ({ tab: key === "fields" ? key : undefined, on: undefined })} />
      </div>
      {compared === "fields" ? <FieldComparison ns={ns} name={name} state={state} /> : <LineageComparison state={state} />}
    </>
  );
}

function FieldComparison({ ns, name, state }: { ns: string; name: string; state: PageState }) {
  const request = { path: paths.datasetDiff(ns, name), params: comparedParams(state) };
  const answer = useAnswer(request);
  const answered = answer.answer?.base;
  const base = state.base ?? (answered ? pinWindow(answered.start, answered.end) : null);
  return (
    <>
      <BaseWindow base={base} isChosen={state.base !== undefined} answered={answered} />
      <Answered of={answer} lines={10}>
        {(given) => (
          <>
            <ChangedFields of={given.body} state={state} isPartial={given.truncatedBy !== undefined || given.retainedFrom !== undefined} />
            <PrintedDiff request={request} answer={given} names={[ns, name]} />
          </>
        )}
      </Answered>
    </>
  );
}

/** The pairs of two windows: those that the later has and the earlier has not are gained, the others lost. */
function LineageComparison({ state }: { state: PageState }) {
  const after = useGraph(state, state, levelOf(state));
  const shown = after.answers[0]?.window;
  // Without a base window it is the one before, as long as that of the page, whose bounds come with its answer.
  const base = state.base ?? (shown ? stepWindow(shown.start, shown.end, -1) : null);
  const before = useGraph(state, base, levelOf(state));
  return (
    <>
      <BaseWindow base={base} isChosen={state.base !== undefined} answered={before.answers[0]?.window} />
      <Comparison state={state} before={before} after={after} />
    </>
  );
}

function Comparison({ state, before, after }: { state: PageState; before: GraphState; after: GraphState }) {
  const both = useMemo(() => before.graph && after.graph && compareGraphs(before.graph, after.graph), [before.graph, after.graph]);
  const failed = [after, before].find(({ problem }) => problem);
  if (failed?.problem) return <ProblemBox problem={failed.problem} retry={failed.retry} retryIn={failed.retryIn} />;
  const isPending = before.pending || after.pending;
  if (!both) return <Skeleton lines={12} visible={isPending} />;
  const answers = [...after.answers, ...before.answers];
  const isStale = before.isStale || after.isStale;
  const { gained, lost } = countChanges(both);
  return (
    <div class={isStale && isPending ? "stale" : undefined} aria-busy={isStale}>
      <Banners answers={answers} />
      <Explorer
        state={state}
        graph={both}
        asked={{ window: after.answers[0]?.window, base: before.answers[0]?.window, truncatedBy: answers.find((each) => each.truncatedBy)?.truncatedBy }}
        summary={
          <>
            : <span class="good">+&nbsp;{gained} gained</span>, <span class="bad">−&nbsp;{lost} lost</span>
          </>
        }
        empty={<Empty title="No lineage in either window" />}
        saveAs={saveGraph}
      />
    </div>
  );
}
