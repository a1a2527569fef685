/** The graph of a field or a dataset over many hops. */

import { Explorer, levelOf } from "../graph/explorer";
import type { saveGraph } from "../graph/export";
import type { Graph } from "../graph/model";
import { useGraph } from "../graph/use-graph";
import { Skeleton } from "../parts/answered";
import { Banners } from "../parts/banner";
import { Empty, EmptyWindow } from "../parts/empty";
import { ProblemBox } from "../parts/problem-box";
import type { PageState } from "../state/page-state";

// Few visits save a file: what makes one is loaded then.
const saveAs: typeof saveGraph = (...shown) => import("./details").then((details) => details.saveGraph(...shown));

export function GraphScreen({ state }: { state: PageState }) {
  const answered = useGraph(state, state, levelOf(state));
  if (state.ns === undefined || state.name === undefined) return <Empty title="No dataset is chosen" />;
  const { graph, answers, isStale, pending, problem } = answered;
  if (problem) return <ProblemBox problem={problem} retry={answered.retry} retryIn={answered.retryIn} />;
  if (!graph) return <Skeleton lines={12} visible={pending} />;
  const failed = graph.links.filter((link) => link.failed).length;
  return (
    <div class={isStale && pending ? "stale" : undefined} aria-busy={isStale}>
      <Banners answers={answers} />
      <Explorer
        state={state}
        graph={graph}
        asked={{ window: answers[0]?.window, truncatedBy: answers.find((each) => each.truncatedBy)?.truncatedBy }}
        summary={failed > 0 && <span class="bad">, {failed} of them by failed runs only</span>}
        empty={<NothingShown state={state} graph={graph} />}
        saveAs={saveAs}
      />
    </div>
  );
}

function NothingShown({ state, graph }: { state: PageState; graph: Graph }) {
  const fields = graph.boxes.flatMap((box) => box.fields);
  const facts = [
    fields.some(({ generated }) => generated) && "generated without a source field",
    fields.some(({ dropped }) => dropped) && "read and not used",
  ].filter(Boolean);
  if (facts.length > 0 && state.field !== undefined)
    return <Empty title="Nothing leads to this field, or on from it"><p>In this window it was {facts.join(" and ")}.</p></Empty>;
  return <EmptyWindow state={state} what={state.field === undefined ? "No lineage" : "No lineage of this field"} />;
}
