/** The ways of a field: stretches of runs that made it in the same way, and the gaps between. */
import { useId } from "preact/hooks";
import type { History, Stretch } from "../api/answers";
import type { Answer } from "../api/client";
import { paths } from "../api/paths";
import { count } from "../browser/numbers";
import { Answered } from "../parts/answered";
import { RunLink } from "../parts/dataset-link";
import { EmptyWindow } from "../parts/empty";
import { Limited } from "../parts/limited";
import { Section } from "../parts/section";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { replace } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { fieldParams, type FieldViewProps } from "./query";
import { Timeline } from "./timeline";
import { WayDetails } from "./way-details";
import { sameContents } from "./ways";

const STRETCHES_FIRST = 100;

export function WaysView({ query, state }: FieldViewProps) {
  const { ns, name, field } = query;
  const answer = useAnswer({ path: paths.history(ns, name, field), params: fieldParams(state) });
  return (
    <Answered of={answer} lines={6}>
      {(answered) =>
        answered.body.stretches.length === 0 ? (
          <EmptyWindow state={state} what="No run wrote this field" />
        ) : (
          <Stretches query={query} state={state} answer={answered} />
        )
      }
    </Answered>
  );
}

function Stretches({ query, state, answer }: FieldViewProps & { answer: Answer<History> }) {
  const { stretches, missingBefore, truncated } = answer.body;
  const same = sameContents(stretches);
  const runs = stretches.reduce((sum, stretch) => sum + stretch.runs, 0);
  return (
    <Section
      title={count(stretches.length, "stretch", "stretches")}
      note={`of runs that made it in the same way, newest first; ${count(runs, "run")} in all${truncated ? "; older runs were not read" : ""}`}
    >
      {answer.window && <Timeline stretches={stretches} window={answer.window} />}
      <Limited items={stretches} first={STRETCHES_FIRST} what="stretches">
        {(shown) => (
          <ol class="stretches">
            {shown.map((stretch, index) => (
              <StretchItem key={stretch.firstStart} number={index} same={same[index] ?? index} stretch={stretch} query={query} state={state} />
            ))}
          </ol>
        )}
      </Limited>
      {missingBefore > 0 && <Gap runs={missingBefore} where="before the first stretch" />}
    </Section>
  );
}

interface StretchItemProps extends FieldViewProps {
  number: number;
  /** The number of the newest stretch with the same content. */
  same: number;
  stretch: Stretch;
}

function StretchItem({ number, same, stretch, query, state }: StretchItemProps) {
  const { firstRun, firstRunNamespace, lastRun, lastRunNamespace, firstStart, lastStart, runs, missing, missingAfter, checksum } = stretch;
  const key = String(firstStart);
  const isOpen = state.open?.includes(key) ?? false;
  const title = useId();
  return (
    <li>
      {missingAfter > 0 && <Gap runs={missingAfter} where="after this stretch" />}
      <article class="card stretch" aria-labelledby={title}>
        <header>
          <h3 id={title}>
            <span class={`stretch-number tone-${same % 4}`}>{number + 1}</span> {count(runs, "run")}
          </h3>
          <span>
            <RunLink run={firstRun} ns={firstRunNamespace}><Time ms={firstStart} /></RunLink> – <RunLink run={lastRun} ns={lastRunNamespace}><Time ms={lastStart} /></RunLink>
          </span>
          {missing > 0 && <span class="quiet">{count(missing, "run")} between wrote the dataset without it</span>}
          <span class="quiet checksum">
            content <code title={checksum}>{checksum.slice(0, 8)}</code>
            {same !== number && `, the same as ${same + 1}`}
          </span>
        </header>
        <details open={isOpen} onToggle={(event) => remember(state, key, event.currentTarget.open)}>
          <summary>Operations and runs</summary>
          {isOpen && <WayDetails query={query} state={state} stretch={stretch} />}
        </details>
      </article>
    </li>
  );
}

function Gap({ runs, where }: { runs: number; where: string }) {
  return (
    <p class="stretch-gap">
      {count(runs, "run")} {where} wrote the dataset without this field.
    </p>
  );
}

/** Write into the address what is open, so that a link shows it, too. */
function remember({ open = [] }: PageState, key: string, isOpen: boolean): void {
  if (open.includes(key) === isOpen) return;
  const rest = open.filter((other) => other !== key);
  const opened = isOpen ? [...rest, key] : rest;
  replace({ open: opened.length > 0 ? opened : undefined });
}
