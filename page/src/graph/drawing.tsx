/** The picture as SVG: quiet links, lit ones above them, and boxes. Rows are found again by indices, never by names. */

import type { RefObject } from "preact";
import { memo } from "../browser/memo";
import { BoxDrawing } from "./box-drawing";
import type { Row } from "./keys";
import type { Box, Field } from "./model";
import type { Plan } from "./scene";
import { lightOfField, type Trace } from "./trace";
import type { Wire } from "./wires";

interface Marks {
  readonly traces: readonly Trace[];
  /** What is selected: a field, or a dataset as a whole. */
  readonly selected: Row | undefined;
  readonly focus: Row | undefined;
}

interface DrawingProps extends Marks {
  plan: Plan;
  wires: readonly Wire[];
  label: string;
  drawing: RefObject<SVGSVGElement | null>;
}

export function Drawing({ plan, wires, label, drawing, traces, selected, focus }: DrawingProps) {
  const { width, height, boxWidth } = plan;
  return (
    // It overflows a constant size: with another one the browser would lay out every text again.
    <svg ref={drawing} class="drawing" width="1" height="1" data-width={width} data-height={height} role="group" aria-label={label}>
      <g>
      <Wires wires={wires} isMuted={traces.length > 0} />
      {[...plan.boxes.values()].map(({ folded, x, y }, index) => (
        <g key={folded.box.key} transform={`translate(${x} ${y})`}>
          <BoxDrawing
            index={index}
            folded={folded}
            width={boxWidth}
            lights={folded.shown.map((field) => markOf(field, traces)).join("")}
            selected={rowIn(folded.box, folded.shown, selected)}
            focus={rowIn(folded.box, folded.shown, focus)}
          />
        </g>
      ))}
      </g>
    </svg>
  );
}

/** Return a letter for how a field is lit, so that boxes can be compared by one text. */
function markOf(field: Field, traces: readonly Trace[]): string {
  return { value: "v", shape: "s", late: "l", none: "-" }[lightOfField(field, traces) ?? "none"];
}

/** Return the number of a row in its box: -1 for the box as a whole or its hidden fields, undefined in other boxes. */
function rowIn(box: Box, shown: readonly Field[], row: Row | undefined): number | undefined {
  if (row?.box !== box) return undefined;
  return row.field === undefined ? -1 : shown.indexOf(row.field);
}

/** One path for each pair of datasets and kind: a long one alone would be drawn again with every move. */
const Wires = memo(function Wires({ wires, isMuted }: { wires: readonly Wire[]; isMuted: boolean }) {
  return (
    <g class={isMuted ? "wires muted" : "wires"} aria-hidden="true">
      {wires.map(({ key, path, kind, light, failed, unordered, change }) => (
        <path key={key} d={path} class={["wire", kind, light, failed && "failed", unordered && "unordered", change].filter(Boolean).join(" ")} />
      ))}
      {wires.filter(({ change }) => change).map(({ key, change, middle }) => (
        <text key={`${key} sign`} class={`sign ${change}`} x={middle.x} y={middle.y + 5}>
          {change === "gained" ? "+" : "−"}
        </text>
      ))}
    </g>
  );
});
