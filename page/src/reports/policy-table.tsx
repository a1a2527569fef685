/** Retention policies, each with its report. */
import type { Policy } from "../api/answers";
import { paths } from "../api/paths";
import { FieldLink } from "../parts/dataset-link";
import { Empty } from "../parts/empty";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { PagedTable } from "../parts/more";
import type { Column } from "../parts/table";
import { TagLink } from "../tags/all-tags";

const COLUMNS: readonly Column<Policy>[] = [
  {
    head: "Policy",
    names: true,
    cell: ({ name }) => <Link to={{ view: "report", report: "retention", policy: name }}><Name text={name} /></Link>,
  },
  { head: "Data may live", cell: ({ maxAge }) => maxAge },
  { head: "It is about", cell: (policy) => <PolicySubject policy={policy} /> },
  { head: "Description", cell: ({ description }) => description },
];

export function PolicyTable() {
  return (
    <PagedTable
      request={{ path: paths.policies(), params: { limit: 100 } }}
      rowsOf={({ policies }) => policies}
      what="policies"
      empty={
        <Empty title="No retention policy is stored">
          <p>
            A policy says how long data may live: <code>PUT v3/policies/gdpr</code> with <code>{'{"maxAge": "90d", "tag": "PII"}'}</code>.
          </p>
        </Empty>
      }
      caption="Policies, each with its report"
      columns={COLUMNS}
    />
  );
}

/** What a policy is about: fields with a tag, or one field. */
export function PolicySubject({ policy: { tag, field } }: { policy: Policy }) {
  if (field) return <FieldLink of={field} />;
  return tag === undefined ? null : <>fields tagged <TagLink tag={tag} /></>;
}
