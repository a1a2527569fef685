/** Times, in UTC or the time of the reader. */

import { usePreference } from "../browser/preferences";
import { formatTime, type Zone, zoneName } from "../state/window";

/** Return the zone that the reader chose, UTC by default. */
export function useZone(): Zone {
  return usePreference("zone") === "local" ? "local" : "utc";
}

/** A time in milliseconds since 1970. */
export function Time({ ms }: { ms: number }) {
  const zone = useZone();
  const seconds = ms / 1000;
  return (
    <time class="time" dateTime={isoTime(ms)} title={`${formatTime(seconds, zone)} ${zoneName(seconds, zone)}`}>
      {formatTime(seconds, zone)}
    </time>
  );
}

function isoTime(ms: number): string | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
