/**
 * Names that are `.` or `..`. A browser takes such a segment out of every address, escaped or not, so a query about
 * them goes in the body of a batch of one.
 */

import { paths } from "./paths";
import type { Answers } from "./types";

/** Whether a browser would change this path. */
export function hasDotSegment(url: string): boolean {
  const [path = ""] = url.split("?");
  return path.split("/").some((segment) => segment === "." || segment === "..");
}

/** Return the response to a GET of a relative address of the API, asked as a batch. Throws as `fetch`. */
export async function fetchInBatch(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const batch = await fetch(paths.batch(), {
    method: "POST",
    headers: { ...headers, Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ questions: [{ path: `/${url}` }] }),
    signal,
  });
  if (!batch.ok) return batch;
  const { answers } = (await batch.json()) as Answers;
  const [{ status, headers: answered, body } = { status: 502, headers: {}, body: {} }] = answers;
  return new Response(JSON.stringify(body), { status, headers: { ...answered, "Content-Type": "application/json" } });
}
