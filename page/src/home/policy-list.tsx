/** Flow policies, each with the number of flows that violate it in the window. */
import type { Flows, Policy } from "../api/answers";
import { paths } from "../api/paths";
import { count } from "../browser/numbers";
import { Answered, Skeleton } from "../parts/answered";
import { Icon } from "../parts/button";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Link } from "../parts/link";
import { More } from "../parts/more";
import { ProblemBox } from "../parts/problem-box";
import { useAnswer } from "../queries/use-answer";
import { usePages } from "../queries/use-pages";
import { isFlowPolicy, outcomeOf } from "../reports/flows";
import type { PageState } from "../state/page-state";

/** Each policy is a report of its own: so many are made by themselves. */
const POLICIES_FIRST = 5;
/** Both kinds of policies come in one list. */
const PAGES = 5;

export function PolicyList({ state }: { state: PageState }) {
  const list = usePages({ path: paths.policies(), params: { limit: 100 } }, PAGES);
  const policies = list.pages.flatMap(({ body }) => body.policies.filter(isFlowPolicy));
  return (
    <Answered of={list.first} lines={3}>
      {() => (
        <>
          {policies.length === 0 && !list.hasMore && (
            <p class="quiet">
              No flow policy is stored. One says where data of a tag must not go: <code>fll policy set --flow</code>.
            </p>
          )}
          <Limited items={policies} first={POLICIES_FIRST} what="policies, not checked yet">
            {(shown) => (
              <ul class="policies">
                {shown.map((policy) => (
                  <PolicyItem key={policy.name} policy={policy} state={state} />
                ))}
              </ul>
            )}
          </Limited>
          <More list={list} what="policies" />
          {policies.length > 0 && <p><Link to={{ view: "report", report: "flows" }}>All flow policies</Link></p>}
        </>
      )}
    </Answered>
  );
}

function PolicyItem({ policy: { name, description }, state: { start, end } }: { policy: Policy; state: PageState }) {
  const { answer, problem, pending, isStale, retry, retryIn } = useAnswer({ path: paths.flows(), params: { policy: name, start, end } });
  return (
    <li aria-busy={isStale && problem === undefined}>
      <Link to={{ view: "report", report: "flows", policy: name, failed: false }}><Name text={name} /></Link>{" "}
      {answer && !problem && <Verdict flows={answer.body} />}
      {description && <p class="of">{description}</p>}
      {answer === undefined && problem === undefined && <Skeleton lines={1} visible={pending} />}
      {problem && <ProblemBox problem={problem} retry={retry} retryIn={retryIn} />}
    </li>
  );
}

function Verdict({ flows }: { flows: Flows }) {
  const outcome = outcomeOf(flows);
  if (outcome === "kept" && flows.forbidsNone) return <span>kept, but no recorded dataset matches its patterns</span>;
  if (outcome === "kept") return <span class="good">kept</span>;
  if (outcome === "unknown") return <span>not known: the report is not complete</span>;
  const current = flows.violations.filter(({ programs }) => programs.some((program) => program.current)).length;
  return (
    <span class="line bad">
      <Icon name="warning" /> {count(flows.violations.length, "forbidden flow")}{flows.truncated && " or more"}, {current} still so
    </span>
  );
}
