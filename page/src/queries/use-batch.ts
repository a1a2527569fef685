/** Several queries in one request. */
import type { Answers } from "../api/answers";
import { paths } from "../api/paths";
import { type AnswerState, useAnswer } from "./use-answer";

/** Ask for the answers to several addresses of the API, at most 100, in their order; none asks nothing. */
export function useBatch(urls: readonly string[]): AnswerState<Answers> {
  return useAnswer(urls.length === 0 ? null : { path: paths.batch(), body: { questions: urls.map((url) => ({ path: `/${url}` })) } });
}
