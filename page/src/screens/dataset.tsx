/** One dataset: where its fields come from, what was made of them, and by which programs and runs. */

import { useMemo } from "preact/hooks";
import type { Entry } from "../api/answers";
import { paths } from "../api/paths";
import { FieldList, SelectedField } from "../dataset/field-list";
import { ProgramTable } from "../dataset/program-table";
import { relatedDatasets } from "../dataset/related";
import { RelatedList } from "../dataset/related-list";
import { RunTable } from "../dataset/run-table";
import { Answered, Skeleton } from "../parts/answered";
import { Banner, Banners } from "../parts/banner";
import { EmptyWindow } from "../parts/empty";
import { ProblemBox } from "../parts/problem-box";
import { type AnswerState, useAnswer } from "../queries/use-answer";
import { usePages } from "../queries/use-pages";
import type { PageState } from "../state/page-state";

const PAGE_FIELDS = 1000;
const PAGES_MAX = 10;

export function DatasetScreen({ state }: { state: PageState }) {
  if (state.tab === "programs") return <ProgramTable state={state} />;
  if (state.tab === "runs") return <RunTable state={state} />;
  return <Columns state={state} />;
}

function Columns({ state }: { state: PageState }) {
  const { ns = "", name = "", start, end, indirect, failed } = state;
  const fields = usePages({ path: paths.fields(ns, name), params: { limit: PAGE_FIELDS } }, PAGES_MAX);
  const lineage = useAnswer(
    // Not before the dataset is known: two 404 say no more than one.
    fields.first.problem ? null : { path: paths.lineage(ns, name), params: { start, end, level: 1, indirect, failed } },
  );
  const listed = fields.pages.flatMap(({ body }) => body.fields);
  const isPartial = fields.hasMore && !fields.isLoading;
  return (
    <Answered of={fields.first} lines={12}>
      {() => (
        <>
          {isPartial && fields.pages.length >= PAGES_MAX && (
            <Banner>Only the first {listed.length} fields are listed. The search finds the others.</Banner>
          )}
          <SelectedField state={state} />
          <Banners answers={[lineage.answer]} />
          {lineage.problem && <ProblemBox problem={lineage.problem} retry={lineage.retry} retryIn={lineage.retryIn} />}
          {lineage.answer?.body.length === 0 && !lineage.isStale && <EmptyWindow state={state} what="No lineage" />}
          <div class="dataset-columns">
            <Side title="Comes from" direction="backward" state={state} lineage={lineage} />
            <FieldList state={state} fields={listed} isPartial={fields.hasMore} />
            <Side title="Was made into" direction="forward" state={state} lineage={lineage} />
          </div>
        </>
      )}
    </Answered>
  );
}

interface SideProps {
  title: string;
  direction: "backward" | "forward";
  state: PageState;
  lineage: AnswerState<Entry[]>;
}

function Side({ title, direction, state, lineage: { answer, problem, pending, isStale } }: SideProps) {
  const related = useMemo(
    () => answer && relatedDatasets(answer.body, direction, state.field),
    [answer, direction, state.field],
  );
  return (
    <div class={`side ${direction}${pending ? " stale" : ""}`} aria-busy={isStale && problem === undefined}>
      {related === undefined && problem === undefined && <Skeleton lines={5} visible={pending} />}
      {related && <RelatedList title={title} direction={direction} related={related} state={state} />}
    </div>
  );
}
