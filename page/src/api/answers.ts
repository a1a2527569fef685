/** Shapes of the answers of the REST API, as `openapi.json` has them. Times are in milliseconds since 1970. */

export type * from "./run-answers";

export type Influence = "direct" | "indirect";

export interface DatasetName {
  namespace: string;
  name: string;
}

export interface FieldName extends DatasetName {
  field: string;
}

export interface Truncatable {
  truncated: boolean;
  truncatedBy?: string[];
}

// The catalogue

export interface Namespaces {
  namespaces: string[];
}

export interface ListedDataset extends DatasetName {
  description?: string;
}

export interface Datasets {
  endpoints: ListedDataset[];
}

export interface DatasetDetails extends ListedDataset, Truncatable {
  fields: number;
  firstStart: number | null;
  lastStart: number | null;
}

export interface ListedField {
  name: string;
  type?: string;
  read: boolean;
  written: boolean;
  /** The start of the last run that wrote it, in milliseconds since 1970, if newer ones wrote the dataset without it. */
  lastWritten?: number;
  /** The newest schema does not have it. */
  dropped?: boolean;
}

export interface Fields {
  fields: ListedField[];
}

export interface SearchHit extends DatasetName {
  field?: string;
}

export interface SearchResults {
  results: SearchHit[];
}

// Lineage over many hops

/** `from` is null for a generated field, `to` for a dropped one, and `*` for the whole dataset. */
export interface Pair {
  from: string | null;
  to: string | null;
  influence?: Influence;
  scope?: "dataset";
  failed?: boolean;
}

/** `unknown`: a run read and wrote the two, but not how their fields relate. */
export interface Entry {
  source: DatasetName | null;
  destination: DatasetName | null;
  fieldmap: Pair[];
  level: number;
  direction: "backward" | "forward";
  unknown?: boolean;
}

export type Lineage = Entry[];

export interface ReachNode extends FieldName {
  hops: number;
  dropped?: boolean;
  /** Whether the order of the runs allows it; left out if the time ended before that was known. */
  inOrder?: boolean;
}

export interface ReachEdge {
  from: FieldName;
  to: FieldName;
  influence: Influence;
  /** Whether the order of the runs allows a value to have passed here; left out as that of a node. */
  inOrder?: boolean;
  runs?: number;
  firstStart?: number;
  lastStart?: number;
  lastRun?: string;
  failed?: boolean;
}

export interface UnknownRelation {
  source: DatasetName;
  destination: DatasetName;
}

export interface Reach extends Truncatable {
  nodes: ReachNode[];
  edges: ReachEdge[];
  unknown?: UnknownRelation[];
}
