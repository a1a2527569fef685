/** What depends on a field: before it is dropped, renamed, or given another type. */
import { Choice, type Option } from "../parts/tabs";
import { ImpactView } from "../reports/impact-view";
import type { Change, PageState } from "../state/page-state";

const CHANGES: readonly Option<Change>[] = [
  { key: "drop", label: "Drop" },
  { key: "rename", label: "Rename" },
  { key: "type", label: "Change type" },
];

export function ImpactScreen({ state }: { state: PageState }) {
  const { ns = "", name = "", field = "", change = "drop" } = state;
  return (
    <div class="report-screen">
      <div class="screen-bar">
        <Choice
          label="Change"
          options={CHANGES}
          current={change}
          to={(key) => ({ change: key === "drop" ? undefined : key, to: undefined })}
        />
        <p class="quiet">What recorded runs of the window made from this field. Nothing is changed or stored.</p>
      </div>
      <ImpactView key={change} field={{ namespace: ns, name, field }} change={change} state={state} />
    </div>
  );
}
