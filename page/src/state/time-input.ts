/** Times as people type them: expressions of the API, or a date and a time in the chosen zone. */

import { formatSeconds, formatTime, resolveTime, type Zone } from "./window";

const TYPED = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?$/;

/** Return a typed time as the API takes it, undefined if it is none. A date alone begins at its midnight. */
export function parseTyped(typed: string, zone: Zone, now: number): string | undefined {
  const text = typed.trim();
  const match = TYPED.exec(text);
  if (match) return fromParts(match.slice(1), zone);
  return resolveTime(text, now) === undefined ? undefined : text;
}

/** Return a time of the API as one would type it: `now-7d` stays, exact times are shown in the zone. */
export function toTyped(text: string, zone: Zone): string {
  if (text.startsWith("now")) return text;
  const seconds = resolveTime(text, 0);
  if (seconds === undefined) return text;
  const milliseconds = Math.round((seconds % 1) * 1000);
  return formatTime(seconds, zone) + (milliseconds === 0 ? "" : `.${String(milliseconds).padStart(3, "0")}`);
}

function fromParts(parts: readonly (string | undefined)[], zone: Zone): string | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map((part) => Number(part ?? 0));
  const fraction = Number((parts[6] ?? "").padEnd(3, "0"));
  const utc = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
  // 2026-02-31 would become a day in March.
  const isReal = new Date(utc).getUTCDate() === day && hour < 24 && minute < 60 && second < 60 && month >= 1 && month <= 12;
  if (!isReal) return undefined;
  const local = new Date(year, month - 1, day, hour, minute, second, fraction).getTime();
  const seconds = (zone === "utc" ? utc : local) / 1000;
  return seconds < 0 ? undefined : formatSeconds(seconds);
}
