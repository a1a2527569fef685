/** Which column each node of a directed graph stands in: sources left, cycles cut, no recursion. */

export interface Edge {
  readonly from: number;
  readonly to: number;
}

/** Return the column of each node, from 0: one further right than everything that leads to it, back edges aside. */
export function rankNodes(count: number, edges: readonly Edge[]): number[] {
  const back = backEdges(count, edges);
  const forward = edges.filter((edge) => !back.has(edge));
  const order = sortTopologically(count, forward);
  const position = new Map(order.map((node, index) => [node, index]));
  const byTarget = [...forward].sort((a, b) => position.get(a.from)! - position.get(b.from)!);
  const ranks = new Array<number>(count).fill(0);
  for (const { from, to } of byTarget) ranks[to] = Math.max(ranks[to]!, ranks[from]! + 1);
  pullRight(ranks, order, forward);
  return ranks;
}

/** Return edges without which there is no cycle: those that lead back to a node of the path of a depth-first walk. */
export function backEdges(count: number, edges: readonly Edge[]): Set<Edge> {
  const out = outgoing(count, edges);
  const incoming = new Array<number>(count).fill(0);
  for (const { to } of edges) incoming[to]!++;
  const nodes = Array.from({ length: count }, (_, node) => node);
  const starts = [...nodes.filter((node) => incoming[node] === 0), ...nodes];
  const [next, isOnPath, isDone] = [new Array<number>(count).fill(0), new Set<number>(), new Set<number>()];
  const back = new Set<Edge>();
  for (const start of starts) {
    const path = isDone.has(start) ? [] : [start];
    while (path.length > 0) {
      const node = path.at(-1)!;
      isOnPath.add(node);
      const edge = out[node]![next[node]!++];
      if (edge === undefined) {
        isOnPath.delete(node);
        isDone.add(node);
        path.pop();
      } else if (isOnPath.has(edge.to)) back.add(edge);
      else if (!isDone.has(edge.to)) path.push(edge.to);
    }
  }
  return back;
}

function sortTopologically(count: number, edges: readonly Edge[]): number[] {
  const out = outgoing(count, edges);
  const waiting = new Array<number>(count).fill(0);
  for (const { to } of edges) waiting[to]!++;
  const order: number[] = [];
  for (let node = 0; node < count; node++) if (waiting[node] === 0) order.push(node);
  // The order grows while it is read.
  for (const node of order) for (const { to } of out[node]!) if (--waiting[to]! === 0) order.push(to);
  return order;
}

/** Move nodes that feed more nodes than feed them towards those: a source stands beside what reads it first. */
function pullRight(ranks: number[], order: readonly number[], edges: readonly Edge[]): void {
  const out = outgoing(ranks.length, edges);
  const incoming = new Array<number>(ranks.length).fill(0);
  for (const { to } of edges) incoming[to]!++;
  for (const node of [...order].reverse()) {
    if (out[node]!.length <= incoming[node]!) continue;
    ranks[node] = out[node]!.reduce((least, { to }) => Math.min(least, ranks[to]! - 1), Infinity);
  }
}

function outgoing(count: number, edges: readonly Edge[]): Edge[][] {
  const out = Array.from({ length: count }, () => [] as Edge[]);
  for (const edge of edges) out[edge.from]!.push(edge);
  return out;
}
