/** A window as a line: where each stretch of runs lies, and where there is none. */
import type { Stretch } from "../api/answers";
import { useZone } from "../parts/time";
import { formatTime, zoneName } from "../state/window";
import { sameContents, segments } from "./ways";

/** Widths are in thousandths of the window; one run alone is a stretch without length, so it has a least width. */
const LENGTH = 1000;
const WIDTH_MIN = 4;

/** Draw the stretches; the list below says the same in words. */
export function Timeline({ stretches, window }: { stretches: readonly Stretch[]; window: { start: number; end: number } }) {
  const zone = useZone();
  const same = sameContents(stretches);
  return (
    <div class="timeline" aria-hidden="true">
      <svg viewBox={`0 0 ${LENGTH} 12`} preserveAspectRatio="none" width="100%" height="12">
        <rect class="timeline-gap" width={LENGTH} height="12" rx="3" />
        {segments(stretches, window).map(({ from, to, stretch }, index) =>
          stretch === undefined ? null : (
            <rect
              key={index}
              class={`tone-${(same[stretch] ?? 0) % 4}`}
              x={Math.min(from * LENGTH, LENGTH - WIDTH_MIN)}
              width={Math.max((to - from) * LENGTH, WIDTH_MIN)}
              height="12"
            />
          ),
        )}
      </svg>
      <p class="timeline-ends">
        <span>{formatTime(window.start, zone)}</span>
        <span>
          {formatTime(window.end, zone)} {zoneName(window.end, zone)}
        </span>
      </p>
    </div>
  );
}
