/** Answers to several queries, asked together. */
import type { Answer, Answers } from "../api/answers";

/** What a batch says of each of its queries. */
export interface Batched<Body> {
  /** One for each query; undefined where it was refused, or there was no time for it. */
  bodies: readonly (Body | undefined)[];
  /** The limits that cut any answer, and those of the batch. */
  truncatedBy: readonly string[];
}

/** Sort out the answers of a batch. A name that was never recorded has no answer, and needs none. */
export function readBatch<Body extends object>({ answers, truncatedBy = [] }: Answers): Batched<Body> {
  const limits = new Set(truncatedBy);
  const bodies = answers.map((answer) => {
    if (answer.status === 200) {
      const body = answer.body as Body & { truncatedBy?: string[] };
      for (const limit of body.truncatedBy ?? []) limits.add(limit);
      return body;
    }
    if (answer.status !== 404) limits.add(statusLimit(answer));
    return undefined;
  });
  return { bodies, truncatedBy: [...limits] };
}

function statusLimit({ status, body }: Answer): string {
  const { title } = (body ?? {}) as { title?: string };
  return title ?? `status ${status}`;
}
