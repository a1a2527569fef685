/** The simple view: each source with the operations on its way to what it leads to. */
import type { FieldOperations, OperationNode } from "../api/answers";

/** One line of the simple view. `operations` is empty where a field is passed on as it is. */
export interface SimpleRow {
  from: OperationNode;
  to: OperationNode;
  operations: string[];
  indirect: boolean;
  failed: boolean;
}

/**
 * Return the lines by dataset and field of their source, and their other end. A node that a READ hands to a WRITE is a
 * line from itself to itself.
 */
export function simpleRows(lineage: FieldOperations): SimpleRow[] {
  const nodes = new Map(lineage.nodes.map((node) => [node.id, node]));
  const rows = lineage.connections.flatMap(({ from, to, operation, operations, influence, failed }) => {
    const [start, end] = [nodes.get(from), nodes.get(to)];
    if (!start || !end) return []; // a limit cut it from the answer, which says so
    const names = operations ?? [operation];
    return [{ from: start, to: end, operations: names, indirect: influence === "indirect", failed: failed === true }];
  });
  const copies = lineage.nodes
    .filter((node) => node.sourceEndPoint && node.destinationEndPoint)
    .map((node) => ({ from: node, to: node, operations: [], indirect: false, failed: node.failed === true }));
  return [...copies, ...rows].sort((a, b) => compare(sortKey(a), sortKey(b)));
}

function sortKey({ from, to }: SimpleRow): string[] {
  const { namespace = "", name = "" } = from.sourceEndPoint ?? {};
  return [namespace, name, from.label, to.destinationEndPoint?.name ?? "", to.label];
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((text, index) => text !== b[index]);
  return at < 0 ? 0 : (a[at] ?? "") < (b[at] ?? "") ? -1 : 1;
}
