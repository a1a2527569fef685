/** What to say where there is nothing. */

import type { ComponentChildren } from "preact";
import type { DatasetDetails } from "../api/answers";
import { paths } from "../api/paths";
import { useAnswer } from "../queries/use-answer";
import type { PageState } from "../state/page-state";
import { useShownWindow } from "../state/shown-window";
import { formatTime, pinWindow, presetOf, zoneName } from "../state/window";
import { Link } from "./link";
import { Time, useZone } from "./time";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Say that the window has nothing of a dataset or field, and offer one that may have. */
export function EmptyWindow({ state, what = "No runs" }: { state: PageState; what?: string }) {
  const { ns, name } = state;
  const { answer, isStale } = useAnswer(
    ns === undefined || name === undefined ? null : { path: paths.dataset(ns, name) },
  );
  return (
    <Empty title={`${what} in this window`}>
      <WindowLine state={state} />
      {answer && !isStale && <OtherWindows details={answer.body} state={state} />}
    </Empty>
  );
}

function WindowLine({ state }: { state: PageState }) {
  const zone = useZone();
  const shown = useShownWindow(state);
  if (shown === undefined) return <p>{presetOf(state)?.label ?? `${state.start} to ${state.end}`}</p>;
  return (
    <p>
      The window has the runs that started from {formatTime(shown.from, zone)} up to {formatTime(shown.to, zone)} {zoneName(shown.to, zone)}
      {state.failed ? "." : "; failed runs do not count."}
    </p>
  );
}

const WEEK = 7 * 86_400;

function OtherWindows({ details: { firstStart, lastStart }, state }: { details: DatasetDetails; state: PageState }) {
  const shown = useShownWindow(state);
  if (firstStart === null || lastStart === null) return <p>No run of this dataset is stored.</p>;
  const [first, end] = [Math.floor(firstStart / 1000), Math.floor(lastStart / 1000) + 1];
  const isInside = shown !== undefined && shown.from <= lastStart / 1000 && lastStart / 1000 < shown.to;
  return (
    <>
      <p>
        The last run started at <Time ms={lastStart} />, the first at <Time ms={firstStart} />.
      </p>
      <p class="offers">
        {isInside && !state.failed && <Link to={{ failed: true }}>Count failed runs</Link>}
        {!isInside && <Link to={pinWindow(Math.max(first, end - WEEK), end)}>Show the last week with runs</Link>}
        <Link to={pinWindow(first, end)}>Show all runs</Link>
      </p>
    </>
  );
}
