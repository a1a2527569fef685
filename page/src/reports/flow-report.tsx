/** The flow report: where data of the fields with a tag goes although a policy forbids it. */
import { useMemo, useState } from "preact/hooks";
import type { Flows } from "../api/answers";
import type { Answer } from "../api/client";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Section } from "../parts/section";
import { useAnswer } from "../queries/use-answer";
import type { PageState } from "../state/page-state";
import { FlowDrawing } from "./flow-drawing";
import { FlowItem } from "./flow-item";
import { graphOfFlows } from "./flows";
import { CountedFlows, ForbiddenDatasets, PolicySubject } from "./policy-table";
import { ReportHead } from "./report-head";
import { UnknownRelations } from "./report-parts";

const FLOWS_FIRST = 50;
/** Flows whose paths are drawn. */
const DRAWN_MAX = 200;
/** A report with so few flows shows their paths at once. */
const OPEN_MAX = 3;

interface FlowReportProps {
  policy: string;
  state: PageState;
}

export function FlowReport({ policy, state }: FlowReportProps) {
  const { start, end, failed, causal } = state;
  const path = paths.flows();
  const report = useAnswer({ path, params: { policy, start, end, failed, causal } });
  const [isWhole, setWhole] = useState(false);
  return (
    <Answered of={report} lines={14}>
      {(answer) => (
        <article class="report">
          <ReportHead
            title={<>Flows under <Name text={policy} whole /></>}
            answer={answer}
            facts={[
              ["It is about", <PolicySubject policy={answer.body.policy} />],
              ["Must not reach", <ForbiddenDatasets policy={answer.body.policy} />],
              ["Counts", <CountedFlows policy={answer.body.policy} />],
              ["Description", answer.body.policy.description],
            ]}
            path={path}
            params={{ policy, failed, causal }}
            csv={[]}
            names={["flows", policy]}
            hasPage
            setWhole={setWhole}
          />
          <p class="report-summary">{answer.body.verdict}</p>
          {answer.body.tagged === 0 && <p>No field that you may read has the tag.</p>}
          <UnknownRelations relations={answer.body.unknown} />
          <FlowList answer={answer} state={state} isWhole={isWhole} />
        </article>
      )}
    </Answered>
  );
}

interface FlowListProps {
  answer: Answer<Flows>;
  state: PageState;
  /** Show all of them, with their paths: for paper. */
  isWhole: boolean;
}

function FlowList({ answer: { body }, state, isWhole }: FlowListProps) {
  const { violations } = body;
  const graph = useMemo(() => graphOfFlows(violations.slice(0, DRAWN_MAX)), [violations]);
  const [first] = violations;
  if (first === undefined) return null;
  return (
    <>
      <FlowDrawing graph={graph} state={state} first={first} />
      {violations.length > DRAWN_MAX && <p class="quiet">The drawing has the paths of the first {DRAWN_MAX} flows.</p>}
      <Section title="Forbidden flows" count={violations.length}>
        <Limited items={violations} first={FLOWS_FIRST} what="flows" isWhole={isWhole}>
          {(shown) => (
            <ol class="flows">
              {shown.map((violation, index) => (
                <FlowItem key={index} number={index + 1} violation={violation} state={state} isOpen={isWhole || violations.length <= OPEN_MAX} isDrawn={index < DRAWN_MAX} />
              ))}
            </ol>
          )}
        </Limited>
      </Section>
    </>
  );
}
