/** Operations as the screens list them: one shape for the operations of a field and those of a run. */
import type { Connection, DatasetName, FieldOperations, OperationNode, OperationType, RecordedOperation } from "../api/answers";

/** A field that an operation takes; `origin` is the operation that made it. */
export interface RowInput {
  origin: string;
  field: string;
  indirect: boolean;
  /** What an indirect input did: filter, join, group_by and so on. */
  kind?: string;
  failed: boolean;
}

/** A field that an operation makes; `writtenTo` are the datasets that WRITEs put it into. */
export interface RowOutput {
  field: string;
  type?: string;
  writtenTo: DatasetName[];
  failed: boolean;
}

/** One operation. `dataset` is what a READ reads or a WRITE writes; `failed`: only failed runs have it. */
export interface OperationRow {
  name: string;
  type: OperationType;
  description: string;
  dataset?: DatasetName;
  inputs: RowInput[];
  outputs: RowOutput[];
  failed: boolean;
}

/** Return the operations of a field, sorted so that each stands after those it takes from. */
export function rowsOfField(lineage: Pick<FieldOperations, "nodes" | "operations" | "connections">): OperationRow[] {
  const nodes = new Map(lineage.nodes.map((node) => [node.id, node]));
  const made = groupBy(lineage.nodes, (node) => node.origin);
  const taken = groupBy(lineage.connections, (connection) => connection.operation);
  const targets = lineage.nodes.flatMap((node) => destinations(node).map((dataset) => ({ node, dataset })));
  const written = groupBy(targets, ({ dataset }) => keyOf(dataset));
  const rows = lineage.operations.map((operation) => ({
    name: operation.name,
    type: operation.type,
    description: operation.description,
    failed: operation.failed === true,
    dataset: operation.endPoint,
    inputs:
      operation.type === "WRITE"
        ? (written.get(keyOf(operation.endPoint)) ?? []).map(({ node }) => toInput(node))
        : transformInputs(taken.get(operation.name) ?? [], nodes),
    outputs: (made.get(operation.name) ?? []).map(toOutput),
  }));
  return inOrder(rows);
}

/** Return the operations of a run, in an order that could have run. */
export function rowsOfRun(operations: readonly RecordedOperation[]): OperationRow[] {
  const rows = operations.map(({ source, destination, inputs = [], outputs = [], ...operation }) => ({
    ...operation,
    failed: false,
    dataset: source ?? destination,
    inputs: inputs.map(({ origin, name, influence, kind }) => ({
      origin,
      field: name,
      indirect: influence === "indirect",
      kind,
      failed: false,
    })),
    outputs: outputs.map(({ name, type }) => ({ field: name, type, writtenTo: [], failed: false })),
  }));
  return inOrder(rows);
}

/** Return rows so that each stands after the ones it takes from, branch by branch; a cycle is cut. */
export function inOrder(rows: readonly OperationRow[]): OperationRow[] {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const isTaken = new Set(rows.flatMap(({ inputs }) => inputs.map(({ origin }) => origin)));
  const entered = new Set<OperationRow>();
  const ordered: OperationRow[] = [];
  // From the last ones backward, so that a branch stands together. A stack, because chains can be long.
  const last = rows.filter((row) => !isTaken.has(row.name));
  const stack = [...last, ...rows].reverse().map((row) => ({ row, isDone: false }));
  for (let top = stack.pop(); top; top = stack.pop()) {
    if (top.isDone) ordered.push(top.row);
    else if (!entered.has(top.row)) {
      entered.add(top.row);
      stack.push({ row: top.row, isDone: true });
      const inputs = top.row.inputs.flatMap((input) => byName.get(input.origin) ?? []);
      // What begins a branch, such as a READ, stands just before what takes it, so that lines are short.
      const before = [...inputs.filter((row) => row.inputs.length > 0), ...inputs.filter((row) => row.inputs.length === 0)];
      for (const row of before.reverse()) stack.push({ row, isDone: false });
    }
  }
  return ordered;
}

/** Return each field that connections take once: direct as soon as one of them is. */
function transformInputs(connections: readonly Connection[], nodes: ReadonlyMap<string, OperationNode>): RowInput[] {
  const inputs = new Map<string, RowInput>();
  for (const { from, influence, failed } of connections) {
    const node = nodes.get(from);
    if (!node) continue; // a limit cut it from the answer, which says so
    const before = inputs.get(from);
    inputs.set(from, {
      origin: node.origin,
      field: node.label,
      indirect: influence === "indirect" && (before?.indirect ?? true),
      failed: failed === true && (before?.failed ?? true),
    });
  }
  return [...inputs.values()];
}

function toInput(node: OperationNode): RowInput {
  return { origin: node.origin, field: node.label, indirect: false, failed: node.failed === true };
}

function toOutput(node: OperationNode): RowOutput {
  return { field: node.label, type: node.type, writtenTo: destinations(node), failed: node.failed === true };
}

/** Return the datasets that WRITEs put a node into. */
export function destinations(node: OperationNode): DatasetName[] {
  return node.destinationEndPoints ?? (node.destinationEndPoint ? [node.destinationEndPoint] : []);
}

function keyOf(dataset: DatasetName | undefined): string {
  return JSON.stringify([dataset?.namespace, dataset?.name]);
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item)) ?? [];
    group.push(item);
    groups.set(key(item), group);
  }
  return groups;
}
