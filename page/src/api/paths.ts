/** Paths of the API, each spelled once, with the types of its answer and of its parameters. */

import { encode } from "../browser/query-string";
import type { AnswerOf, ParamsOf } from "./types";

/** Values of parameters by name; undefined leaves one out. */
export type Params = Readonly<Record<string, string | number | boolean | undefined>>;

declare const TYPES: unique symbol;

/** A path relative to the page, so that it works behind a path prefix. Only the compiler knows its types. */
export type ApiPath<Body = unknown, Query extends Params = Params> = string & { readonly [TYPES]: [Body, Query] };

type Template = keyof AnswerOf;
type Names<Rest> = Rest extends `${string}{${string}}${infer Next}` ? [name: string, ...Names<Next>] : [];
type PathOf<Of extends Template> = (...names: Names<Of>) => ApiPath<AnswerOf[Of], ParamsOf[Of]>;

/** Return a function that puts names into a path, escaped, in the order of the path. */
function pathOf<Of extends Template>(template: Of): PathOf<Of> {
  const [first = "", ...rest] = template.slice(1).split(/\{\w+\}/);
  return (...names) => (first + rest.map((text, index) => encode(names[index] as string) + text).join("")) as ReturnType<PathOf<Of>>;
}

export const paths = {
  batch: pathOf("/v3/questions"),
  namespaces: pathOf("/v3/namespaces"),
  search: pathOf("/v3/search"),
  datasets: pathOf("/v3/namespaces/{namespace}/endpoints"),
  dataset: pathOf("/v3/namespaces/{namespace}/endpoints/{name}"),
  fields: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields"),
  lineage: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage"),
  datasetRuns: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/runs"),
  runCounts: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/runs/counts"),
  programs: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/programs"),
  datasetTags: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/tags"),
  operations: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage"),
  reach: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/reach"),
  history: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/history"),
  diff: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/diff"),
  datasetDiff: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/diff"),
  fieldTags: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags"),
  fieldTag: pathOf("/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags/{tag}"),
  ways: pathOf("/v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage"),
  tags: pathOf("/v3/tags"),
  tag: pathOf("/v3/tags/{tag}"),
  policies: pathOf("/v3/policies"),
  consumption: pathOf("/v3/reports/consumption"),
  provenance: pathOf("/v3/reports/provenance"),
  retention: pathOf("/v3/reports/retention"),
  flows: pathOf("/v3/reports/flows"),
  impact: pathOf("/v3/impact"),
  runs: pathOf("/v3/runs"),
  events: pathOf("/v3/events"),
  run: pathOf("/v3/runs/{run}"),
  namespaceRun: pathOf("/v3/namespaces/{namespace}/runs/{run}"),
};
