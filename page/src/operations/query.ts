/** The query of the views of the operations screen. */
import type { PageState } from "../state/page-state";

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

/** Return the parameters that all queries of a field take. */
export function fieldParams({ start, end, indirect, failed }: PageState) {
  return { start, end, indirect, failed };
}

/** Return the parameters of a diff: without a base window of the state it is that of the API. */
export function comparedParams(state: PageState) {
  return { ...fieldParams(state), baseStart: state.base?.start, baseEnd: state.base?.end };
}
