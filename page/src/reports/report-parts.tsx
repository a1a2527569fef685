/** Parts that the reports about a field share. */
import type { FieldName, Program, UnknownRelation } from "../api/answers";
import { PROGRAM_COLUMNS } from "../dataset/program-table";
import { DatasetLink } from "../parts/dataset-link";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
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

/** Show programs that used the dataset without reporting whether they used the field. */
export function UnknownColumns({ title, programs }: { title: string; programs: readonly Program[] }) {
  return programs.length === 0 ? null : (
    <Section title={title} count={programs.length} note="their runs do not report whether they used the field">
      <Table caption={title} columns={PROGRAM_COLUMNS} rows={programs} />
    </Section>
  );
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
