/** Runs over the window, as bars; dragging over them selects a shorter window. */

import { useState } from "preact/hooks";
import type { RunBucket } from "../api/answers";
import { paths } from "../api/paths";
import { useAnswer } from "../queries/use-answer";
import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";
import type { ShownWindow } from "../state/shown-window";
import { formatLength, formatTime, pinWindow } from "../state/window";
import { useZone } from "./time";

const BUCKETS = 60;
const BAR = 4;
const HEIGHT = 24;

interface RunStripProps {
  state: PageState;
  /** The window of the answer: the counts are asked after it, so that they do not delay it. */
  shown: ShownWindow | undefined;
}

export function RunStrip({ state: { ns, name }, shown }: RunStripProps) {
  const isAsked = ns !== undefined && name !== undefined && shown !== undefined && shown.to > shown.from;
  const { answer } = useAnswer(
    isAsked ? { path: paths.runCounts(ns, name), params: { ...pinWindow(shown.from, shown.to), buckets: BUCKETS } } : null,
  );
  const { buckets, truncated } = answer?.body ?? { buckets: [], truncated: false };
  if (ns === undefined || name === undefined) return null;
  return (
    <div class="run-strip">
      {isAsked && buckets.length > 0 && <Bars buckets={buckets} from={shown.from} to={shown.to} isCut={truncated} />}
    </div>
  );
}

interface BarsProps {
  buckets: readonly RunBucket[];
  from: number;
  to: number;
  isCut: boolean;
}

function Bars({ buckets, from, to, isCut }: BarsProps) {
  const zone = useZone();
  const [drag, setDrag] = useState<{ first: number; last: number }>();
  const most = Math.max(1, ...buckets.map(({ complete, failed }) => complete + failed));
  const at = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * buckets.length)));
  };
  const select = () => {
    if (drag === undefined) return;
    const [first, last] = [Math.min(drag.first, drag.last), Math.max(drag.first, drag.last)];
    setDrag(undefined);
    push(pinWindow(buckets[first]?.start ?? from, buckets[last + 1]?.start ?? to));
  };
  return (
    <svg
      viewBox={`0 0 ${buckets.length * BAR} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={summary(buckets, to - from, isCut)}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ first: at(event), last: at(event) });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, last: at(event) })}
      onPointerUp={select}
      onPointerCancel={() => setDrag(undefined)}
    >
      <rect class="ground" x="0" y={HEIGHT - 1} width={buckets.length * BAR} height="1" />
      {buckets.map(({ start, complete, failed }, index) => (
        <g key={index}>
          <title>{`${formatTime(start, zone)}: ${complete + failed} runs, ${failed} failed`}</title>
          <rect class="hit" x={index * BAR} y="0" width={BAR} height={HEIGHT} />
          <Bar index={index} kind="complete" count={complete + failed} most={most} />
          <Bar index={index} kind="failed" count={failed} most={most} />
        </g>
      ))}
      {drag && <Selection {...drag} />}
    </svg>
  );
}

function Bar({ index, kind, count, most }: { index: number; kind: string; count: number; most: number }) {
  if (count === 0) return null;
  const height = Math.max(1.5, (count / most) * (HEIGHT - 2));
  return <rect class={kind} x={index * BAR + 0.5} y={HEIGHT - 1 - height} width={BAR - 1} height={height} />;
}

function Selection({ first, last }: { first: number; last: number }) {
  const left = Math.min(first, last) * BAR;
  return <rect class="selection" x={left} y="0" width={(Math.abs(last - first) + 1) * BAR} height={HEIGHT} />;
}

function summary(buckets: readonly RunBucket[], seconds: number, isCut: boolean): string {
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0);
  const runs = buckets.reduce((sum, bucket) => sum + bucket.complete, failed);
  const bound = isCut ? "at least " : "";
  return `${bound}${runs} runs, ${failed} of them failed, in ${buckets.length} parts of ${formatLength(seconds / buckets.length)}`;
}
