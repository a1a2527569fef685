/** What differs between how a field was made in the window and in a base window. */
import type { ComponentChildren } from "preact";
import type { Diff, DistinctDerivation } from "../api/answers";
import type { Answer } from "../api/client";
import { paths } from "../api/paths";
import { count } from "../browser/numbers";
import { Answered } from "../parts/answered";
import { BaseBar } from "../parts/base-bar";
import { DatasetLink, FieldLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Link } from "../parts/link";
import { Section } from "../parts/section";
import { Time, useZone } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { formatTime, zoneName } from "../state/window";
import { type Change, countChanges, defaultBase, toChanges } from "./changes";
import { Description } from "./description";
import { parseNodeId } from "./node-id";
import { fieldParams, type FieldViewProps } from "./query";
import { stretchWindow } from "./ways";

const LINES_FIRST = 100;
const SIGNS: Record<Change, string> = { gained: "+", lost: "−" };

export function DiffView({ query: { ns, name, field }, state }: FieldViewProps) {
  const params = { ...fieldParams(state), baseStart: state.base?.start, baseEnd: state.base?.end };
  const answer = useAnswer({ path: paths.diff(ns, name, field), params });
  return (
    <>
      <BaseBar base={state.base} problem={answer.problem} />
      <Answered of={answer} lines={6}>
        {(answered) => <Changes answer={answered} hasBase={state.base !== undefined} />}
      </Answered>
    </>
  );
}

function Changes({ answer, hasBase }: { answer: Answer<Diff>; hasBase: boolean }) {
  const { body, window } = answer;
  const changes = toChanges(body);
  return (
    <>
      {!hasBase && window && <DefaultBase window={window} />}
      <p class="diff-summary">
        {countChanges(changes) === 0 ? "Nothing differs. " : ""}
        {count(body.kept, "operation or link is", "operations and links are")} in both windows.
        {body.omitted && ` What was ${body.omitted.join(" or ")} is not complete: a limit cut one of the windows.`}
      </p>
      <Lines title="Ways" items={changes.ways}>
        {(way) => <WayLine of={way} />}
      </Lines>
      <Lines title="Sources" items={changes.sources}>
        {(source) => <FieldLink of={source} to={{ view: "operations" }} />}
      </Lines>
      <Lines title="Operations" items={changes.operations}>
        {({ name, type, description, endPoint }) => (
          <>
            <Name text={name} /> <span class={`operation-type ${type.toLowerCase()}`}>{type.toLowerCase()}</span>{" "}
            {endPoint && <DatasetLink of={endPoint} />}
            <Description text={description} />
          </>
        )}
      </Lines>
      <Lines title="Links" items={changes.links}>
        {({ from, to, operation, influence }) => (
          <>
            <Name text={parseNodeId(from).field} />{" "}
            <span class="quiet">
              of <Name text={parseNodeId(from).origin} />
            </span>{" "}
            → <Name text={parseNodeId(to).field} />{" "}
            <span class="quiet">
              by <Name text={operation} />
              {influence === "indirect" && ", indirect"}
            </span>
          </>
        )}
      </Lines>
    </>
  );
}

/** The runs of a way that one window has alone, with a link to their window. */
function WayLine({ of: { digest, checksum, runs, firstStart, lastStart } }: { of: DistinctDerivation }) {
  return (
    <>
      {firstStart === undefined || lastStart === undefined ? (
        "Runs that were not read"
      ) : (
        <Link to={{ ...stretchWindow({ firstStart, lastStart }), operations: "ways", open: undefined }}>
          {count(runs, "run")}, <Time ms={firstStart} />
          {lastStart > firstStart && (
            <>
              {" "}
              – <Time ms={lastStart} />
            </>
          )}
        </Link>
      )}{" "}
      <span class="quiet">
        way <code title={digest}>{digest.slice(0, 8)}</code>, content <code title={checksum}>{checksum.slice(0, 8)}</code>
      </span>
    </>
  );
}

function DefaultBase({ window }: { window: { start: number; end: number } }) {
  const zone = useZone();
  const { start, end } = defaultBase(window);
  return (
    <p class="quiet">
      Compared with {formatTime(start, zone)} to {formatTime(end, zone)} {zoneName(end, zone)}.
    </p>
  );
}

interface LinesProps<T> {
  title: string;
  items: readonly { change: Change; item: T }[];
  children: (item: T) => ComponentChildren;
}

/** Changes as lines with a sign, a word and a colour. */
function Lines<T>({ title, items, children }: LinesProps<T>) {
  if (items.length === 0) return null;
  return (
    <Section title={title} count={items.length}>
      <Limited items={items} first={LINES_FIRST} what={title.toLowerCase()}>
        {(shown) => (
          <ul class="diff-lines">
            {shown.map(({ change, item }, index) => (
              <li key={index} class={change}>
                <span class="sign" aria-hidden="true">{SIGNS[change]}</span>
                <span class="change-word">{change}</span>
                <div>{children(item)}</div>
              </li>
            ))}
          </ul>
        )}
      </Limited>
    </Section>
  );
}
