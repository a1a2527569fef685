/** Requests to the REST API. */

import { formatQuery } from "../browser/query-string";
import { fetchInBatch, hasDotSegment } from "./dot-names";
import { nameHidden } from "./hidden-names";
import type { ApiPath, Params } from "./paths";
import { askForToken, currentToken, tokenHeaders } from "./token";

/** An answer with what its headers say. Windows and horizon are in epoch seconds. */
export interface Answer<Body> {
  body: Body;
  window?: { start: number; end: number };
  /** The window that a diff compares it with. */
  base?: { start: number; end: number };
  /** The limit that cut the answer, such as `pairs_max=250000`. */
  truncatedBy?: string;
  /** Runs that started earlier may have been deleted. */
  retainedFrom?: number;
  /** The path of the next page, for `fetchAnswer`. */
  next?: ApiPath<Body>;
}

export interface FieldProblem {
  at: string;
  detail: string;
}

/** What the API refused, as RFC 9457 has it. `retryAfter` is in seconds. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly errors: readonly FieldProblem[] = [],
    readonly retryAfter?: number,
  ) {
    super(`${status} ${title}: ${detail}`);
  }
}

/** No answer came: the network or the server is away, or was silent for ANSWER_SECONDS_MAX. */
export class Offline extends Error {}

export const ANSWER_SECONDS_MAX = 60;

/** Return the relative address of a query: also for links to CSV and printable answers. */
export function apiUrl(path: ApiPath, params: Params = {}): string {
  return path + formatQuery(Object.entries(params));
}

interface FetchOptions {
  signal?: AbortSignal;
  accept?: string;
  method?: "GET" | "PUT" | "DELETE" | "POST";
  /** Sent as JSON. */
  body?: unknown;
}

/**
 * Ask the API. An answer that is not JSON (by `accept`) is its text, an empty one undefined.
 * Throws ApiProblem, Offline, and the AbortError of the signal.
 */
export async function fetchAnswer<Body, Query extends Params>(
  path: ApiPath<Body, Query>,
  params?: NoInfer<Query>,
  options: FetchOptions = {},
): Promise<Answer<Body>> {
  const response = await send(apiUrl(path, params), options);
  const text = await response.text();
  if (!response.ok) throw toProblem(response, text);
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  const body = (isJson ? parse(text) : text || undefined) as Body;
  return toAnswer(response.headers, body, path);
}

/** Ask for another form of an answer than JSON. Throws as `fetchAnswer`. */
export async function fetchText(path: ApiPath, params: Params, options: FetchOptions): Promise<Answer<string | undefined>> {
  return fetchAnswer(path as ApiPath<string | undefined>, params, options);
}

function parse(text: string): unknown {
  // With a function for each value, parsing takes several times as long.
  return JSON.parse(text, text.includes('"hidden":') ? nameHidden : undefined);
}

async function send(url: string, options: FetchOptions): Promise<Response> {
  const { signal: given, accept = "application/json", method = "GET", body } = options;
  const timeout = AbortSignal.timeout(ANSWER_SECONDS_MAX * 1000);
  const signal = given ? AbortSignal.any([given, timeout]) : timeout;
  const token = currentToken();
  const headers: Record<string, string> = { Accept: accept, ...tokenHeaders(token) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const isBatch = method === "GET" && hasDotSegment(url);
    const response = await (isBatch ? fetchInBatch(url, headers, signal) : fetch(url, { method, headers, body: content, signal }));
    if (response.status === 401) askForToken(token);
    return response;
  } catch (error) {
    if (given?.aborted) throw error;
    throw new Offline(error instanceof Error ? error.message : String(error));
  }
}

/** Return an answer with what its headers say. `path` is that of the query. */
export function toAnswer<Body>(headers: Headers, body: Body, path: string): Answer<Body> {
  const link = /<[^?>]*(\?[^>]*)>;\s*rel="next"/.exec(headers.get("Link") ?? "")?.[1];
  const { truncated, truncatedBy } = (body ?? {}) as { truncated?: boolean; truncatedBy?: string[] };
  const isCut = truncated === true || headers.get("Truncated") === "true";
  return {
    body,
    window: windowOf(headers, "Window"),
    base: windowOf(headers, "Base"),
    truncatedBy: isCut ? (headers.get("Truncated-By") ?? truncatedBy?.join(", ") ?? "a limit") : undefined,
    retainedFrom: seconds(headers.get("Retained-From")),
    // The query alone: the path of the link lacks the prefix that a proxy removed.
    next: link === undefined ? undefined : ((path.replace(/\?.*$/, "") + link) as ApiPath<Body>),
  };
}

/** Return the window that two headers name. */
function windowOf(headers: Headers, name: "Window" | "Base"): { start: number; end: number } | undefined {
  const [start, end] = [seconds(headers.get(`${name}-Start`)), seconds(headers.get(`${name}-End`))];
  return start === undefined || end === undefined ? undefined : { start, end };
}

function toProblem(response: Response, text: string): ApiProblem {
  const retryAfter = seconds(response.headers.get("Retry-After"));
  try {
    const { title, detail, errors } = JSON.parse(text) as Partial<ApiProblem>;
    return new ApiProblem(response.status, title ?? response.statusText, detail ?? "", errors ?? [], retryAfter);
  } catch {
    // Not the API: a proxy answers for it.
    return new ApiProblem(response.status, response.statusText, "The server gave no reason.", [], retryAfter);
  }
}

function seconds(text: string | null): number | undefined {
  return text === null || text.trim() === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
}
