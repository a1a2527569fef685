/** The lines beside a list of operations: each operation has a lane from its row to the last row that takes from it. */
import type { OperationRow } from "./rows";

/** A line in a lane; lanes count from 0 at the left. */
export interface RailLine {
  lane: number;
  indirect: boolean;
}

/** What is drawn at one row. */
export interface RailRow {
  lane: number;
  /** Lines that come from above to the dot of this row. */
  into: RailLine[];
  /** Lines that go on below this row, that of the row itself included. */
  below: RailLine[];
  /** Lines that pass the row from above to below. */
  passing: RailLine[];
}

export interface Rail {
  rows: RailRow[];
  lanes: number;
}

/** More lanes than these cannot be distinguished; they would also make the drawing quadratic. */
export const LANES_MAX = 32;

interface Link {
  from: number;
  indirect: boolean;
}

/**
 * Return the lanes of operations that are in order, undefined if there are more than LANES_MAX. An operation that takes
 * from a later one has no line to it.
 */
export function layOutRail(operations: readonly OperationRow[]): Rail | undefined {
  const links = linksByTarget(operations);
  const ends = endsOf(operations, links);
  const owners: (number | undefined)[] = []; // by lane, the row whose line is in it
  const laneOf: number[] = [];
  const rows: RailRow[] = [];
  for (let row = 0; row < operations.length; row += 1) {
    const above = owners.slice();
    const into = (links[row] ?? []).map(({ from, indirect }) => ({ lane: laneOf[from] ?? 0, indirect }));
    for (const { lane } of into) if (ends.last[owners[lane] ?? -1] === row) owners[lane] = undefined;
    const lane = freeLane(owners, into);
    if (lane >= LANES_MAX) return undefined;
    laneOf.push(lane);
    if (ends.last[row] !== undefined) owners[lane] = row;
    const below = toLines(owners, ends.indirect);
    const stays = (line: RailLine) => owners[line.lane] === above[line.lane];
    rows.push({ lane, into, below, passing: below.filter(stays) });
  }
  return { rows, lanes: laneOf.reduce((most, lane) => Math.max(most, lane), 0) + 1 };
}

/** Return for each row one link for each row that it takes from; it is direct as soon as one input is. */
function linksByTarget(operations: readonly OperationRow[]): Link[][] {
  const rows = new Map(operations.map((operation, row) => [operation.name, row]));
  return operations.map((operation, to) => {
    const indirect = new Map<number, boolean>();
    for (const input of operation.inputs) {
      const from = rows.get(input.origin);
      if (from !== undefined && from < to) indirect.set(from, (indirect.get(from) ?? true) && input.indirect);
    }
    return [...indirect].map(([from, isIndirect]) => ({ from, indirect: isIndirect }));
  });
}

/** Return by row the last row that takes from it, and whether all that do, do so indirectly. */
function endsOf(operations: readonly OperationRow[], links: readonly Link[][]) {
  const last: (number | undefined)[] = operations.map(() => undefined);
  const indirect = operations.map(() => true);
  links.forEach((inputs, to) => {
    for (const link of inputs) {
      last[link.from] = to;
      indirect[link.from] = (indirect[link.from] ?? true) && link.indirect;
    }
  });
  return { last, indirect };
}

function toLines(owners: readonly (number | undefined)[], indirect: readonly boolean[]): RailLine[] {
  return owners.flatMap((owner, lane) => (owner === undefined ? [] : [{ lane, indirect: indirect[owner] ?? false }]));
}

/** Return the lane of an input that ends here, so that chains are straight; else the first free one. */
function freeLane(owners: readonly (number | undefined)[], into: readonly RailLine[]): number {
  const free = into.map((line) => line.lane).filter((lane) => owners[lane] === undefined);
  if (free.length > 0) return Math.min(...free);
  const lane = owners.findIndex((owner) => owner === undefined);
  return lane < 0 ? owners.length : lane;
}
