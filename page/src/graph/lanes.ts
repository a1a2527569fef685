/** The passages of long links between boxes: items of the columns, which are placed like boxes. */

const LANE_GAP = 7;
/** Lanes beyond this number are left out: their links pass behind boxes. */
const LANES_MAX = 20_000;

/** Two boxes by their indices, and the heights at which a link leaves and arrives. */
export interface Pair {
  readonly from: number;
  readonly to: number;
  readonly fromY: number;
  readonly toY: number;
}

/** A box or a lane in a column while it is placed. */
export interface Item {
  readonly column: number;
  height: number;
  readonly gap: number;
  readonly ends: End[];
  y: number;
}

/** A neighbour: `other.y + offset` is where it would have this item. */
interface End {
  readonly other: Item;
  readonly offset: number;
}

export function createItem(column: number, height: number, gap: number): Item {
  return { column, height, gap, ends: [], y: 0 };
}

/** The lanes of all pairs. Links of one box that pass the same column share a lane. */
export class Lanes {
  readonly items: Item[] = [];
  readonly ofPairs: { items: Item[]; isBack: boolean }[];
  private readonly shared = new Map<string, Item>();

  constructor(boxes: readonly Item[], pairs: readonly Pair[]) {
    this.ofPairs = pairs.map((pair) => {
      const [source, target] = [boxes[pair.from]!, boxes[pair.to]!];
      const isBack = target.column <= source.column;
      const columns = isBack ? range(target.column, source.column).reverse() : range(source.column + 1, target.column - 1);
      const items = this.items.length + columns.length > LANES_MAX ? [] : columns.map((at) => this.lane(pair, at, isBack));
      connect([source, ...items, target], pair);
      return { items, isBack };
    });
  }

  private lane({ from }: Pair, column: number, isBack: boolean): Item {
    const key = `${from} ${column} ${isBack}`;
    const lane = this.shared.get(key) ?? createItem(column, 0, LANE_GAP);
    if (!this.shared.has(key)) this.items.push(lane);
    this.shared.set(key, lane);
    return lane;
  }
}

/** Return the numbers from `start` to `stop`, both included. */
function range(start: number, stop: number): number[] {
  return Array.from({ length: Math.max(0, stop - start + 1) }, (_, index) => start + index);
}

function connect(items: readonly Item[], { fromY, toY }: Pair): void {
  for (let index = 1; index < items.length; index++) {
    const [a, b] = [items[index - 1]!, items[index]!];
    if (a.column === b.column) {
      besideBox(a, b, index === 1);
      continue;
    }
    const offset = (index === 1 ? fromY : 0) - (index === items.length - 1 ? toY : 0);
    a.ends.push({ other: b, offset: -offset });
    b.ends.push({ other: a, offset });
  }
}

/** Have a lane that begins or ends in the column of its box pass just below that box. */
function besideBox(a: Item, b: Item, isFirst: boolean): void {
  const [box, lane] = isFirst ? [a, b] : [b, a];
  lane.ends.push({ other: box, offset: box.height + LANE_GAP });
}
