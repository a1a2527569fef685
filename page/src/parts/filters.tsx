/** Filters that all queries take. */

import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";

export function Filters({ state }: { state: PageState }) {
  return (
    <fieldset class="filters">
      <legend class="unseen">Filters</legend>
      {state.view === "report" ? (
        <Switch label="Causal" hint="Follow an edge only if the upstream run started first" on={state.causal} set={(causal) => push({ causal })} />
      ) : (
        <Switch label="Indirect" hint="Pairs that only shaped rows: filters, joins, groups" on={state.indirect} set={(indirect) => push({ indirect })} />
      )}
      <Switch label="Failed runs" hint="Count failed and aborted runs, too" on={state.failed} set={(failed) => push({ failed })} />
    </fieldset>
  );
}

interface SwitchProps {
  label: string;
  hint: string;
  on: boolean;
  set: (on: boolean) => void;
}

/** A labelled switch. */
export function Switch({ label, hint, on, set }: SwitchProps) {
  return (
    <label class="switch" title={hint}>
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
