/** The search of the catalogue. */

import type { SearchHit } from "../api/answers";
import { fetchAnswer } from "../api/client";
import { paths } from "../api/paths";
import { createStore } from "../browser/store";

const HITS_MAX = 20;
/** A page may be empty and have a next one, where a rare text needs many names to be examined. */
const PAGES_MAX = 6;

/** A text that a part of the page wants to be searched; each one is an object of its own. */
export const searchRequest = createStore<{ text: string } | undefined>(undefined);

/** Put a text into the search box, focus it and show what is found. */
export function openSearch(text: string): void {
  searchRequest.set({ text });
}

/** Return the best hits for a text. Throws as `fetchAnswer`. */
export async function findHits(text: string, signal: AbortSignal): Promise<readonly SearchHit[]> {
  let answer = await fetchAnswer(paths.search(), { q: text, limit: HITS_MAX }, { signal });
  for (let page = 1; page < PAGES_MAX && answer.body.results.length === 0 && answer.next; page += 1) {
    answer = await fetchAnswer(answer.next, {}, { signal });
  }
  return answer.body.results;
}
