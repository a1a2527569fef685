/** Query strings. */

/** The values of each key, in order. */
export type Query = ReadonlyMap<string, readonly string[]>;

/** Write pairs as a query string with `?`, without those that are undefined; empty without any. */
export function formatQuery(pairs: readonly (readonly [string, string | number | boolean | undefined])[]): string {
  const parts = pairs.flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${encode(String(value))}`]));
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** Escape a text for a path segment or a query; lone surrogates become U+FFFD. */
export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Parse a query string, with or without `?`. `+` is a plus, and `%` without two digits is itself. */
export function parseQuery(search: string): Query {
  const query = new Map<string, string[]>();
  for (const part of search.replace(/^\?/, "").split("&")) {
    const [key = "", ...rest] = part.split("=");
    // Not URLSearchParams, which reads `+` as a blank: people write `now-1h+30m`.
    if (rest.length > 0) query.set(decode(key), [...(query.get(decode(key)) ?? []), decode(rest.join("="))]);
  }
  return query;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a `%` that was never escaped
  }
}
