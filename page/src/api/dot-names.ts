/**
 * Names that are `.` or `..`. A browser takes such a segment out of every address, escaped or not, so a question about
 * them goes in the body of a batch of one.
 */

interface BatchAnswers {
  answers: { status: number; headers: Record<string, string>; body: unknown }[];
}

/** Whether a browser would change this path. */
export function hasDotSegment(url: string): boolean {
  const [path = ""] = url.split("?");
  return path.split("/").some((segment) => segment === "." || segment === "..");
}

/** Return the response to a GET of a relative address of the API, asked as a batch. Throws as `fetch`. */
export async function fetchInBatch(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const batch = await fetch("v3/questions", {
    method: "POST",
    headers: { ...headers, Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ questions: [{ path: `/${url}` }] }),
    signal,
  });
  if (!batch.ok) return batch;
  const { answers } = (await batch.json()) as BatchAnswers;
  const [{ status, headers: answered, body } = { status: 502, headers: {}, body: {} }] = answers;
  return new Response(JSON.stringify(body), { status, headers: { ...answered, "Content-Type": "application/json" } });
}
