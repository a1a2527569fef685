/** Time windows: expressions of the API, steps, and times in UTC or local time. All numbers are epoch seconds. */

import type { WindowText } from "./page-state";

export type Zone = "utc" | "local";

export interface Preset extends WindowText {
  label: string;
}

export const PRESETS: readonly Preset[] = [
  { label: "Last hour", start: "now-1h", end: "now" },
  { label: "Last 24 hours", start: "now-24h", end: "now" },
  { label: "Last 7 days", start: "now-7d", end: "now" },
  { label: "Last 30 days", start: "now-30d", end: "now" },
  { label: "Last 90 days", start: "now-90d", end: "now" },
  { label: "Last 365 days", start: "now-365d", end: "now" },
  { label: "All time", start: "0", end: "now" },
];

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const DATE = /^\d{4}-\d\d-\d\d$/;
const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Return the time that a text means at `now`, undefined if the API would refuse it. */
export function resolveTime(text: string, now: number): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (DATE.test(text) || ZONED.test(text)) {
    const milliseconds = Date.parse(text);
    return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
  }
  return resolveArithmetic(text, now);
}

function resolveArithmetic(text: string, now: number): number | undefined {
  if (!/^now([+-]\d+[smhdw])*$/.test(text)) return undefined;
  const terms = [...text.matchAll(/([+-]\d+)([smhdw])/g)];
  const time = terms.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ""] ?? 0), now);
  return time < 0 ? undefined : time;
}

/** Return the window as far before (-1) or behind (1) another one as that one is long. */
export function stepWindow(from: number, to: number, steps: 1 | -1): WindowText {
  const length = to - from;
  const start = Math.max(0, from + steps * length);
  return pinWindow(start, start + length);
}

/** Return a window of exact times, to the millisecond. */
export function pinWindow(from: number, to: number): WindowText {
  return { start: formatSeconds(from), end: formatSeconds(to) };
}

/** Write epoch seconds for the API: with milliseconds only where there are some. */
export function formatSeconds(seconds: number): string {
  return (Math.round(seconds * 1000) / 1000).toString();
}

/** Return the preset of a window, if it is one. */
export function presetOf(window: WindowText): Preset | undefined {
  return PRESETS.find(({ start, end }) => start === window.start && end === window.end);
}

/** Write a time as `2026-11-01 06:00:00`, in UTC or local time, without zone. */
export function formatTime(seconds: number, zone: Zone): string {
  const milliseconds = Math.floor(seconds * 1000);
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return `${seconds} s since 1970`;
  const shifted = zone === "utc" ? date : new Date(milliseconds - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19).replace("T", " ");
}

/** Return the name of a zone in the IANA database; UTC where the browser knows none for the local one. */
export function timeZoneId(zone: Zone): string {
  return (zone === "local" && Intl.DateTimeFormat().resolvedOptions().timeZone) || "UTC";
}

/** Name the zone at a time: `UTC`, or `UTC+01:00`. */
export function zoneName(seconds: number, zone: Zone): string {
  const minutes = zone === "utc" ? 0 : -new Date(seconds * 1000).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${pad(hours)}:${pad(rest)}`;
}

/** Write a length of time in its two largest units: `29 d 12 h`. */
export function formatLength(seconds: number): string {
  const units: [string, number][] = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, size] of units) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
