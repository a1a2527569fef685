/** Reports for people who answer for data: consumption, provenance, retention, flows. */
import { Link } from "../parts/link";
import { Choice, type Option } from "../parts/tabs";
import { ConsumptionReport } from "../reports/consumption-report";
import { FieldForm } from "../reports/field-form";
import { FlowReport } from "../reports/flow-report";
import { FlowPolicyTable, RetentionPolicyTable } from "../reports/policy-table";
import { ProvenanceReport } from "../reports/provenance-report";
import { RetentionReport } from "../reports/retention-report";
import type { PageState, Report } from "../state/page-state";

const REPORTS: readonly Option<Report>[] = [
  { key: "consumption", label: "Consumption" },
  { key: "provenance", label: "Provenance" },
  { key: "retention", label: "Retention" },
  { key: "flows", label: "Flows" },
];
const EXPLAINED: Record<Report, string> = {
  consumption: "Who read a field in the window, and every field that was made of it.",
  provenance: "Where a field comes from, by which operations, and since when in this way.",
  retention: "Where data is older than a policy allows, in all stored runs.",
  flows: "Where data of a tag goes although a policy forbids it.",
};

export function ReportScreen({ state }: { state: PageState }) {
  const report = state.report ?? "consumption";
  return (
    <div class="report-screen">
      {state.ns === undefined && <h1>Reports</h1>}
      <div class="screen-bar">
        <Choice
          label="Report"
          options={REPORTS}
          current={report}
          to={(key) => ({ report: key === "consumption" ? undefined : key, policy: undefined, on: undefined })}
        />
        <p class="quiet">{EXPLAINED[report]}</p>
      </div>
      {report === "retention" || report === "flows" ? <OfPolicy report={report} state={state} /> : <OfField report={report} state={state} />}
    </div>
  );
}

const OF_POLICY = {
  retention: { Table: RetentionPolicyTable, Report: RetentionReport },
  flows: { Table: FlowPolicyTable, Report: FlowReport },
};

function OfPolicy({ report, state }: { report: keyof typeof OF_POLICY; state: PageState }) {
  const { Table, Report } = OF_POLICY[report];
  if (state.policy === undefined) return <Table />;
  return (
    <>
      <p class="report-back">
        <Link to={{ policy: undefined, on: undefined }}>All policies</Link>
      </p>
      <Report policy={state.policy} state={state} />
    </>
  );
}

function OfField({ report, state }: { report: "consumption" | "provenance"; state: PageState }) {
  const { ns, name, field } = state;
  if (ns === undefined || name === undefined || field === undefined) return <FieldForm state={state} />;
  const Component = report === "consumption" ? ConsumptionReport : ProvenanceReport;
  return <Component field={{ namespace: ns, name, field }} state={state} />;
}
