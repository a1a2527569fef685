/** Lists that come in pages. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, type ApiProblem, fetchAnswer, type Offline } from "../api/client";
import type { Params } from "../api/paths";
import { type AnswerState, type ApiRequest, asProblem, useAnswer } from "./use-answer";

export interface PagesState<T> {
  /** The state of the first page, with all pages. */
  first: AnswerState<T>;
  /** All pages that were read, in order. */
  pages: readonly Answer<T>[];
  /** Read the next page; undefined after the last one, and while it is under way. */
  more?: () => void;
  /** Whether there is a next page. */
  hasMore: boolean;
  isLoading: boolean;
  problem?: ApiProblem | Offline;
}

interface Rest<T> {
  /** The first page that the others follow. */
  of?: Answer<T>;
  pages: readonly Answer<T>[];
  problem?: ApiProblem | Offline;
  isLoading: boolean;
}

/** Ask for the first page, and for more on demand, or by itself up to `automatic` pages. */
export function usePages<Body, Query extends Params>(request: ApiRequest<Body, Query> | null, automatic = 1): PagesState<Body> {
  const first = useAnswer(request);
  const [rest, setRest] = useState<Rest<Body>>({ pages: [], isLoading: false });
  const abort = useRef<AbortController>(undefined);
  const { answer } = first;
  useEffect(() => {
    setRest({ of: answer, pages: [], isLoading: false });
    return () => abort.current?.abort();
  }, [answer]);

  const later = rest.of === answer ? rest.pages : [];
  const pages = answer === undefined ? [] : [answer, ...later];
  const next = pages.at(-1)?.next;
  const isLoading = rest.of === answer && rest.isLoading;
  const more = () => {
    if (next === undefined || isLoading) return;
    const { signal } = (abort.current = new AbortController());
    setRest({ of: answer, pages: later, isLoading: true });
    fetchAnswer(next, {}, { signal })
      .then((page) => setRest({ of: answer, pages: [...later, page], isLoading: false }))
      .catch((error: unknown) => {
        if (!signal.aborted) setRest({ of: answer, pages: later, isLoading: false, problem: asProblem(error) });
      });
  };
  const continues = next !== undefined && pages.length < automatic && rest.problem === undefined;
  useEffect(() => {
    if (continues && rest.of === answer) more();
  }, [continues, pages.length, rest.of]);
  return {
    first: { ...first, pages },
    pages,
    more: next === undefined || isLoading ? undefined : more,
    hasMore: next !== undefined,
    isLoading,
    problem: rest.of === answer ? rest.problem : undefined,
  };
}
