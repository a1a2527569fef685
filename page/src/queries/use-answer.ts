/** Ask the API from a component, and render again with the answer. */

import { useEffect, useReducer } from "preact/hooks";
import { type Answer, ApiProblem, apiUrl, fetchAnswer, Offline } from "../api/client";
import type { ApiPath, Params } from "../api/paths";
import { notePageWindow, noteRefused } from "../state/shown-window";

export interface ApiRequest<Body, Query extends Params = Params> {
  path: ApiPath<Body, Query>;
  params?: NoInfer<Query>;
  /** Sent as JSON with POST. */
  body?: unknown;
}

export interface AnswerState<T> {
  /** Whether the request has been under way for PENDING_MS_MIN. */
  pending: boolean;
  /** The last answer; it stays while the next one is under way. */
  answer?: Answer<T>;
  /** All pages that were read of a list whose first one is `answer`: any of them may be cut. */
  pages?: readonly Answer<T>[];
  /** Whether `answer` is not (yet) the answer to this request: to be shown dimmed. */
  isStale: boolean;
  problem?: ApiProblem | Offline;
  /** Seconds until the request is sent again by itself, after a 503. */
  retryIn?: number;
  retry: () => void;
}

const PENDING_MS_MIN = 400;
const RETRY_SECONDS_MAX = 60;

interface Progress<T> {
  answer?: Answer<T>;
  /** The address that `answer` answers. */
  answered?: string;
  /** The address that failed with `problem`. */
  failed?: string;
  problem?: ApiProblem | Offline;
  slow?: string;
  retryIn?: number;
  attempt: number;
}

type Update<T> = Partial<Progress<T>> | ((progress: Progress<T>) => Partial<Progress<T>>);

function reduce<T>(progress: Progress<T>, update: Update<T>): Progress<T> {
  return { ...progress, ...(typeof update === "function" ? update(progress) : update) };
}

/** Ask once per request, and again after `retry` or a 503. A new request aborts the one under way; null asks nothing. */
export function useAnswer<Body, Query extends Params>(request: ApiRequest<Body, Query> | null): AnswerState<Body> {
  const [progress, update] = useReducer<Progress<Body>, Update<Body>>(reduce, { attempt: 0 });
  const key = request === null ? undefined : apiUrl(request.path, request.params) + (request.body === undefined ? "" : JSON.stringify(request.body));
  useEffect(() => {
    if (request === null || key === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => update({ slow: key }), PENDING_MS_MIN);
    const { path, params, body } = request;
    fetchAnswer(path, params, { signal: abort.signal, body, method: body === undefined ? "GET" : "POST" })
      .then((answer) => {
        if (abort.signal.aborted) return;
        notePageWindow(answer.window, params);
        update({ answer, answered: key, failed: undefined, problem: undefined, slow: undefined });
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        if (error instanceof ApiProblem && error.status === 400) noteRefused(error.errors);
        update({ failed: key, problem: asProblem(error), retryIn: retrySeconds(error), slow: undefined });
      })
      .finally(() => clearTimeout(timer));
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
    // The key stands for the request, which is a new object each time.
  }, [key, progress.attempt]);

  const failed = key !== undefined && progress.failed === key;
  const retry = () => update(({ attempt }) => ({ attempt: attempt + 1, failed: undefined, retryIn: undefined }));
  useCountdown(failed ? progress.retryIn : undefined, (retryIn) => (retryIn > 0 ? update({ retryIn }) : retry()));
  return {
    pending: key !== undefined && progress.slow === key,
    answer: key === undefined ? undefined : progress.answer,
    isStale: progress.answered !== key,
    problem: failed ? progress.problem : undefined,
    retryIn: failed ? progress.retryIn : undefined,
    retry,
  };
}

function useCountdown(seconds: number | undefined, tick: (left: number) => void): void {
  useEffect(() => {
    if (seconds === undefined) return undefined;
    const timer = setTimeout(() => tick(seconds - 1), 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
}

function retrySeconds(error: unknown): number | undefined {
  const isAway = error instanceof ApiProblem && error.status === 503;
  return isAway ? Math.min(Math.max(Math.ceil(error.retryAfter ?? 5), 1), RETRY_SECONDS_MAX) : undefined;
}

/** Return an error as one that a problem box can show. */
export function asProblem(error: unknown): ApiProblem | Offline {
  if (error instanceof ApiProblem || error instanceof Offline) return error;
  return new ApiProblem(0, "The answer cannot be read", error instanceof Error ? error.message : String(error));
}
