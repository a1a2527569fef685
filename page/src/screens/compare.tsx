/** The lineage of two windows: pairs that the later has and the earlier has not are gained, the others lost. */

import { useMemo } from "preact/hooks";
import { BaseWindow } from "../graph/base-window";
import { compareGraphs, countChanges } from "../graph/compare";
import { Explorer, levelOf } from "../graph/explorer";
import { saveGraph } from "../graph/export";
import { useGraph, type GraphState } from "../graph/use-graph";
import { Skeleton } from "../parts/answered";
import { Banners } from "../parts/banner";
import { Empty } from "../parts/empty";
import { ProblemBox } from "../parts/problem-box";
import type { PageState } from "../state/page-state";
import { stepWindow } from "../state/window";

export function CompareScreen({ state }: { state: PageState }) {
  const after = useGraph(state, state, levelOf(state));
  const shown = after.answers[0]?.window;
  // Without a base window it is the one before, as long as that of the page, whose bounds come with its answer.
  const base = state.base ?? (shown ? stepWindow(shown.start, shown.end, -1) : null);
  const before = useGraph(state, base, levelOf(state));
  if (state.ns === undefined || state.name === undefined) return <Empty title="No dataset is chosen" />;
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
