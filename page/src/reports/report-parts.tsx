/** Parts that the reports about a field share. */
import type { FieldName, UnknownRelation } from "../api/answers";
import { DatasetLink } from "../parts/dataset-link";
import type { PageState } from "../state/page-state";

/** What a report about a field is of. */
export interface FieldReportProps {
  field: FieldName;
  state: PageState;
}

/** Return the parameters of a report about a field, but for its window. */
export function fieldReportParams({ field: { namespace, name, field }, state: { failed, causal } }: FieldReportProps) {
  return { namespace, endpoint: name, field, failed, causal };
}

/** Say between which datasets lineage is known, but not of which fields. */
export function UnknownRelations({ relations = [] }: { relations?: readonly UnknownRelation[] }) {
  return (
    <>
      {relations.map(({ source, destination }, index) => (
        <p key={index}>
          <DatasetLink of={source} /> leads to <DatasetLink of={destination} />, but it is not known how their fields relate.
        </p>
      ))}
    </>
  );
}
