/** What differs between how a field was made in the window and in a base window. */
import type { ComponentChildren } from "preact";
import type { Diff } from "../api/answers";
import type { Answer } from "../api/client";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { BaseBar } from "../parts/base-bar";
import { FieldLink } from "../parts/dataset-link";
import { Limited } from "../parts/limited";
import { Section } from "../parts/section";
import { useZone } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import { formatTime, zoneName } from "../state/window";
import { type Change, commonText, countChanges, omittedText, toChanges } from "./changes";
import { ChangeLines, LinkLine, OperationLine, WayLine } from "./diff-lines";
import { PrintedDiff } from "./printed-diff";
import { comparedParams, type FieldViewProps } from "./query";

const LINES_FIRST = 100;

export function DiffView({ query: { ns, name, field }, state }: FieldViewProps) {
  const request = { path: paths.diff(ns, name, field), params: comparedParams(state) };
  const answer = useAnswer(request);
  return (
    <>
      <BaseBar base={state.base} problem={answer.problem} />
      <Answered of={answer} lines={6}>
        {(answered) => (
          <>
            <Changes answer={answered} hasBase={state.base !== undefined} />
            <PrintedDiff request={request} answer={answered} names={[ns, name, field]} />
          </>
        )}
      </Answered>
    </>
  );
}

function Changes({ answer: { body, base }, hasBase }: { answer: Answer<Diff>; hasBase: boolean }) {
  const changes = toChanges(body);
  return (
    <>
      {!hasBase && base && <DefaultBase base={base} />}
      <p class="diff-summary">
        {countChanges(changes) === 0 ? "Nothing differs. " : ""}
        {commonText(body)} {omittedText(body)}
      </p>
      <Lines title="Ways" items={changes.ways}>
        {(way) => <WayLine of={way} />}
      </Lines>
      <Lines title="Sources" items={changes.sources}>
        {(source) => <FieldLink of={source} to={{ view: "operations" }} />}
      </Lines>
      <Lines title="Operations" items={changes.operations}>
        {(operation) => <OperationLine of={operation} />}
      </Lines>
      <Lines title="Links" items={changes.links}>
        {(link) => <LinkLine of={link} />}
      </Lines>
    </>
  );
}

function DefaultBase({ base: { start, end } }: { base: { start: number; end: number } }) {
  const zone = useZone();
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

/** The changes of one kind below their title; nothing without any. */
function Lines<T>({ title, items, children }: LinesProps<T>) {
  if (items.length === 0) return null;
  return (
    <Section title={title} count={items.length}>
      <Limited items={items} first={LINES_FIRST} what={title.toLowerCase()}>
        {(shown) => <ChangeLines items={shown}>{children}</ChangeLines>}
      </Limited>
    </Section>
  );
}
