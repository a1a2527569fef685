/** The states of an answer: under way, refused, older than the query, there. */

import type { ComponentChildren } from "preact";
import type { Answer } from "../api/client";
import type { AnswerState } from "../queries/use-answer";
import { Banners } from "./banner";
import { ProblemBox } from "./problem-box";

interface AnsweredProps<T> {
  of: AnswerState<T>;
  /** Lines of the skeleton, about as high as the answer will be. */
  lines?: number;
  children: (answer: Answer<T>) => ComponentChildren;
}

/** Show an answer; the last one dimmed while the next is under way, a problem above it, and what limits cut it. */
export function Answered<T>({ of, lines = 6, children }: AnsweredProps<T>) {
  const { answer, pages = [answer], problem, pending, isStale, retry, retryIn } = of;
  if (problem !== undefined) return <ProblemBox problem={problem} retry={retry} retryIn={retryIn} />;
  if (answer === undefined) return <Skeleton lines={lines} visible={pending} />;
  return (
    <div class={isStale && pending ? "stale" : undefined} aria-busy={isStale}>
      <Banners answers={pages} />
      {children(answer)}
    </div>
  );
}

/** Lines that keep the place of an answer; seen only once it has been under way for a while. */
export function Skeleton({ lines, visible }: { lines: number; visible: boolean }) {
  return (
    <div class={visible ? "skeleton" : "skeleton unseen-yet"} role="status" aria-busy="true" aria-label={visible ? "Loading" : undefined}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}
