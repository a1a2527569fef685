/** Policies of each kind, each with its report. */
import type { Policy } from "../api/answers";
import { paths } from "../api/paths";
import { FieldLink } from "../parts/dataset-link";
import { Empty } from "../parts/empty";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { PagedTable } from "../parts/more";
import type { Column } from "../parts/table";
import { TagLink } from "../tags/all-tags";
import { isFlowPolicy } from "./flows";

/** Both kinds come in one list: so many pages of it are read by themselves. */
const PAGES = 5;
const REQUEST = { path: paths.policies(), params: { limit: 100 } };
const DESCRIPTION: Column<Policy> = { head: "Description", cell: ({ description }) => description };

const RETENTION: readonly Column<Policy>[] = [
  policyColumn("retention"),
  { head: "Data may live", cell: ({ maxAge }) => maxAge },
  { head: "It is about", cell: (policy) => <PolicySubject policy={policy} /> },
  DESCRIPTION,
];

const FLOWS: readonly Column<Policy>[] = [
  policyColumn("flows"),
  { head: "It is about", cell: (policy) => <PolicySubject policy={policy} /> },
  { head: "Must not reach", cell: (policy) => <ForbiddenDatasets policy={policy} /> },
  { head: "Counts", cell: (policy) => <CountedFlows policy={policy} /> },
  DESCRIPTION,
];

function policyColumn(report: "retention" | "flows"): Column<Policy> {
  return {
    head: "Policy",
    names: true,
    cell: ({ name }) => <Link to={{ view: "report", report, policy: name }}><Name text={name} /></Link>,
  };
}

export function RetentionPolicyTable() {
  return (
    <PagedTable
      request={REQUEST}
      rowsOf={({ policies }) => policies.filter((policy) => !isFlowPolicy(policy))}
      what="policies"
      empty={
        <Empty title="No retention policy is stored">
          <p>
            A policy says how long data may live: <code>PUT v3/policies/gdpr</code> with <code>{'{"maxAge": "90d", "tag": "PII"}'}</code>.
          </p>
        </Empty>
      }
      automatic={PAGES}
      caption="Retention policies, each with its report"
      columns={RETENTION}
    />
  );
}

export function FlowPolicyTable() {
  return (
    <PagedTable
      request={REQUEST}
      rowsOf={({ policies }) => policies.filter(isFlowPolicy)}
      what="policies"
      empty={
        <Empty title="No flow policy is stored">
          <p>
            A policy says where data of a tag must not go: <code>fll policy set no-pii --flow --tag PII --into 'marketing/*'</code>.
          </p>
        </Empty>
      }
      automatic={PAGES}
      caption="Flow policies, each with its report"
      columns={FLOWS}
    />
  );
}

/** What a policy is about: fields with a tag, or one field. */
export function PolicySubject({ policy: { tag, field } }: { policy: Policy }) {
  if (field) return <FieldLink of={field} />;
  return tag === undefined ? null : <>fields tagged <TagLink tag={tag} /></>;
}

/** The datasets that a flow policy forbids. */
export function ForbiddenDatasets({ policy: { into = "*", onlyInto } }: { policy: Policy }) {
  return (
    <>
      {into === "*" ? "any dataset" : <Name text={into} />}
      {onlyInto !== undefined && <> but <Name text={onlyInto} /></>}
    </>
  );
}

/** Which flows a flow policy counts. */
export function CountedFlows({ policy: { influence, unlessMasked } }: { policy: Policy }) {
  return (
    <>
      {influence === "any" ? "values and influence" : "values"}
      {unlessMasked && ", unless masked"}
    </>
  );
}
