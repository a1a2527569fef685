/** Shapes of answers about where a field comes from, retention, tags and policies. */

import type { FieldName, Truncatable, UnknownRelation } from "./answers";
import type { FieldOperations, ReachedField, Stretch, Way } from "./detail-answers";

export interface Provenance extends Truncatable {
  report: "provenance";
  field: FieldName;
  unknown?: UnknownRelation[];
  sources: ReachedField[];
  upstream: ReachedField[];
  derivations: Way[];
  detailed: FieldOperations;
  simple: FieldOperations;
  stretches: Stretch[];
}

export interface FieldTag extends FieldName {
  tag: string;
  by?: string;
  /** When it was put, in milliseconds since 1970. */
  at: number;
  description?: string;
  /** Of an inherited tag: from the field that has it to the one asked about. */
  path?: FieldName[];
}

export interface FieldTags extends Partial<Truncatable> {
  tags: FieldTag[];
  /** False if the reader may not set and remove tags of the field; else left out. */
  changeable?: false;
}

export interface TagNames {
  tags: string[];
}

export interface TaggedFields {
  tag: string;
  fields: FieldTag[];
}

export interface Policy {
  name: string;
  maxAge: string;
  tag?: string;
  field?: FieldName;
  description?: string;
  at: number;
}

export interface Policies {
  policies: Policy[];
}

/** Runs that wrote data older than a policy allows; starts in milliseconds since 1970. */
interface Expired {
  runs: number;
  oldestRun: string;
  oldestStart: number;
  newestRun: string;
  newestStart: number;
}

export interface ExpiredProgram extends Expired {
  namespace: string;
  application: string;
  program: string;
  type: string;
}

export interface ExpiredField extends Expired, FieldName {
  path: FieldName[];
  programs: ExpiredProgram[];
}

export interface RetentionReport extends Truncatable {
  policy: Policy;
  window: { start: number; end: number };
  fields: ExpiredField[];
}
