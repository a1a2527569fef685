/** The question that the views of the operations screen ask. */
import type { Params } from "../api/client";
import type { PageState } from "../state/url";

export interface FieldQuery {
  ns: string;
  name: string;
  field: string;
  direction: "backward" | "forward";
}

export interface FieldViewProps {
  query: FieldQuery;
  state: PageState;
}

/** Return the parameters that all questions about a field take. */
export function fieldParams({ start, end, indirect, failed }: PageState): Params {
  return { start, end, indirect, failed };
}
