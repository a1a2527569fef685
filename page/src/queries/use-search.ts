/** Hits for a text that someone types. */

import { useEffect, useState } from "preact/hooks";
import type { SearchHit } from "../api/answers";
import { ApiProblem, Offline } from "../api/client";
import { findHits } from "./search";

export interface Found {
  /** The text that the hits are the answer to. */
  text: string;
  hits: readonly SearchHit[];
  /** Why there are none. */
  failure?: string;
}

/** Wait this long after the last key. */
const DELAY_MS = 120;

/** Return the hits for exactly this text, undefined while they are under way; an older search is aborted. */
export function useSearch(text: string): Found | undefined {
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    if (text === "") return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      findHits(text, abort.signal)
        .then((hits) => setFound({ text, hits }))
        .catch((error: unknown) => {
          if (!abort.signal.aborted) setFound({ text, hits: [], failure: failureText(error) });
        });
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  // Never those of another text: Enter would open something that the reader did not ask for.
  return found?.text === text ? found : undefined;
}

function failureText(error: unknown): string {
  if (error instanceof Offline) return "The server does not answer.";
  return error instanceof ApiProblem ? error.detail : String(error);
}
