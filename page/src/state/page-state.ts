/** The state of the page: everything that its address holds. */

export const VIEWS = ["home", "dataset", "graph", "operations", "compare", "report", "run", "tags", "impact"] as const;
export const DIRECTIONS = ["both", "backward", "forward"] as const;
export const REPORTS = ["consumption", "provenance", "retention", "flows"] as const;
export const OPERATION_VIEWS = ["detailed", "simple", "ways", "diff"] as const;
export const CHANGES = ["drop", "rename", "type"] as const;
export type View = (typeof VIEWS)[number];
export type Direction = (typeof DIRECTIONS)[number];
export type Report = (typeof REPORTS)[number];
export type Change = (typeof CHANGES)[number];
export type OperationView = (typeof OPERATION_VIEWS)[number];

export interface FieldRef {
  ns: string;
  name: string;
  field?: string;
}

/** Two texts as the API takes them: `now-7d`, epoch seconds or ISO 8601; start included, end excluded. */
export interface WindowText {
  start: string;
  end: string;
}

export interface PageState extends WindowText {
  view: View;
  ns?: string;
  name?: string;
  field?: string;
  direction?: Direction;
  /** Number of hops, at least 1. */
  level?: number;
  /** Whether indirect pairs are shown. */
  indirect: boolean;
  /** Whether failed and aborted runs count. */
  failed: boolean;
  /** Whether an upstream run must have started before the run that read from it. */
  causal: boolean;
  /** What is selected in the graph. */
  on?: FieldRef;
  as?: "table";
  /** The other window of a comparison. */
  base?: WindowText;
  /** Folded parts that are open. */
  open?: string[];
  q?: string;
  run?: string;
  report?: Report;
  tab?: string;
  tag?: string;
  policy?: string;
  operations?: OperationView;
  /** What would be done to a field, `drop` by default. */
  change?: Change;
  /** The new name or type of a changed field. */
  to?: string;
}
