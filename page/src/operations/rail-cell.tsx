/** The lines beside one operation: the chain that it is part of. */
import type { OperationType } from "../api/answers";
import type { RailLine, RailRow } from "./rail";

/** Pixels; the dot is level with the first line of text. */
const DOT_Y = 20;
const WIDTH_MAX = 136;
const PITCH_MAX = 18;

interface RailCellProps {
  row: RailRow;
  lanes: number;
  type: OperationType;
  failed: boolean;
}

/** Draw the lanes of a row of any height: the part above the dot is fixed, lines below it end at 100 %. */
export function RailCell({ row, lanes, type, failed }: RailCellProps) {
  const pitch = Math.min(PITCH_MAX, WIDTH_MAX / lanes);
  const x = (lane: number) => 10 + lane * pitch;
  return (
    <div class="rail" style={{ width: `${x(lanes - 1) + 10}px` }} aria-hidden="true">
      <svg class={failed ? "failed" : undefined} width="100%" height="100%" focusable="false">
        {row.passing.map((line) => (
          <line key={line.lane} class={style(line)} x1={x(line.lane)} x2={x(line.lane)} y1="0" y2={DOT_Y} />
        ))}
        {row.into.map((line) => (
          <path key={line.lane} class={style(line)} d={turn(x(line.lane), x(row.lane))} />
        ))}
        {row.below.map((line) => (
          <line key={line.lane} class={style(line)} x1={x(line.lane)} x2={x(line.lane)} y1={DOT_Y} y2="100%" />
        ))}
        <circle class={`dot ${type.toLowerCase()}`} cx={x(row.lane)} cy={DOT_Y} r="5" />
      </svg>
    </div>
  );
}

/** Return the path of a line down its lane, round a corner and level into the dot. */
function turn(from: number, to: number): string {
  if (from === to) return `M${from} 0V${DOT_Y}`;
  const radius = Math.min(8, Math.abs(to - from));
  return `M${from} 0V${DOT_Y - radius}Q${from} ${DOT_Y} ${from + Math.sign(to - from) * radius} ${DOT_Y}H${to}`;
}

function style({ indirect }: RailLine): string {
  return indirect ? "indirect" : "direct";
}
