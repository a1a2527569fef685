/** Documents of a day that arrived with warnings, and those that were refused. */
import type { ActivityEvent } from "../api/answers";
import { paths } from "../api/paths";
import { count } from "../browser/numbers";
import { Skeleton } from "../parts/answered";
import { RunLink } from "../parts/dataset-link";
import { Name, Names } from "../parts/field-name";
import { LimitedTable } from "../parts/more";
import { ProblemBox } from "../parts/problem-box";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import type { WindowText } from "../state/page-state";
import { outcomeText, sortEvents } from "./events";

const LISTED = 50;
const ROWS_FIRST = 6;

const COLUMNS: readonly Column<ActivityEvent>[] = [
  { head: "Arrived", names: true, cell: ({ time }) => <Time ms={time} /> },
  { head: "Outcome", cell: (event) => <span class={event.outcome === "refused" ? "bad" : undefined}>{outcomeText(event)}</span> },
  { head: "Of", cell: (event) => <Source event={event} /> },
  { head: "Reasons", cell: ({ reasons = [] }) => <Reasons of={reasons} /> },
];

export function Arrivals({ day: { start } }: { day: WindowText }) {
  const answers = [useAnswer(request("refused", start)), useAnswer(request("warned", start))] as const;
  const wrong = answers.find(({ problem }) => problem !== undefined);
  if (wrong?.problem) return <ProblemBox problem={wrong.problem} retry={wrong.retry} retryIn={wrong.retryIn} />;
  const [refused, warned] = [answers[0].answer?.body, answers[1].answer?.body];
  if (refused === undefined || warned === undefined) return <Skeleton lines={3} visible={answers.some(({ pending }) => pending)} />;
  const events = sortEvents([...refused.events, ...warned.events]);
  return (
    <div class="report" aria-busy={answers.some(({ isStale }) => isStale)}>
      {events.length === 0 ? <p class="quiet">No document was refused or has warnings.</p> : <LimitedTable caption="Documents that were refused or have warnings, newest first" columns={COLUMNS} rows={events} what="documents" first={ROWS_FIRST} />}
      {[refused, warned].some(({ truncated }) => truncated) && <p class="quiet">Only the newest {count(LISTED, "document")} of each outcome are listed.</p>}
      <p class="quiet">Covers {refused.covers}.</p>
    </div>
  );
}

function request(outcome: "refused" | "warned", since: string) {
  return { path: paths.events(), params: { since, outcome, limit: LISTED } };
}

function Source({ event: { namespace = "", program = "", run, route } }: { event: ActivityEvent }) {
  const isNamed = namespace !== "" || program !== "";
  return (
    <p>
      {isNamed ? <Names of={[namespace, program]} between=" › " /> : <span class="quiet">{route}</span>}
      {run !== undefined && <> <RunLink run={run} ns={namespace || undefined}>run</RunLink></>}
    </p>
  );
}

function Reasons({ of }: { of: readonly string[] }) {
  return (
    <ul>
      {of.map((reason, index) => (
        <li key={index}><Name text={reason} whole /></li>
      ))}
    </ul>
  );
}
