/** Answers to several queries, asked together. */
import type { Answers } from "../api/answers";
import { type Answer, toAnswer } from "../api/client";

/** Return an answer for each query, without a body where there is none: a refused query cuts the whole. */
export function readBatch<Body>({ answers }: Answers): Answer<Body | undefined>[] {
  return answers.map(({ status, headers, body }) => {
    if (status === 200) return toAnswer(new Headers(headers), body as Body, "");
    // A name that was never recorded has no lineage, and nothing is missing.
    if (status === 404) return { body: undefined };
    const { title = `status ${status}` } = (body ?? {}) as { title?: string };
    return { body: undefined, truncatedBy: title };
  });
}
