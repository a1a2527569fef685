/** One flow that a policy forbids: its ends, its runs, the operations along its path, and its programs. */
import type { FlowProgram, FlowStep, Violation } from "../api/answers";
import { useNarrow } from "../browser/use-narrow";
import { count, formatCount } from "../browser/numbers";
import { ProgramName } from "../dataset/run-table";
import { Description } from "../operations/description";
import { Button } from "../parts/button";
import { FieldLink, RunLink } from "../parts/dataset-link";
import { type Column, Table } from "../parts/table";
import { Time } from "../parts/time";
import { replace } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { type FlowKind, kindOfPath, runsOfFlow } from "./flows";

const KIND_HELP: Record<FlowKind, string> = {
  copied: "Each hop copies the value",
  computed: "Some hop computes another value from it",
  masked: "Some hop hashes, encrypts or masks the value",
  influence: "Some hop uses it to decide rows or groups alone",
  unknown: "What some hop does is not known",
};

const PROGRAMS: readonly Column<FlowProgram>[] = [
  { head: "Program", names: true, cell: (program) => <ProgramName {...program} /> },
  { head: "Type", cell: ({ type }) => type },
  { head: "Runs", numeric: true, cell: ({ runs }) => formatCount(runs) },
  { head: "First run", cell: ({ namespace, firstRun, firstStart }) => <RunLink run={firstRun} ns={namespace}><Time ms={firstStart} /></RunLink> },
  { head: "Last run", cell: ({ namespace, lastRun, lastStart }) => <RunLink run={lastRun} ns={namespace}><Time ms={lastStart} /></RunLink> },
  { head: "Still so", cell: ({ current }) => <StillSo isCurrent={current} /> },
];

interface FlowItemProps {
  /** Its place in the report, from 1. */
  number: number;
  violation: Violation;
  state: PageState;
  /** Show the path and the programs at once. */
  isOpen: boolean;
  isDrawn: boolean;
}

export function FlowItem({ number, violation, state, isOpen, isDrawn }: FlowItemProps) {
  const { source, path, programs, hops } = violation;
  const kind = kindOfPath(path);
  const runs = runsOfFlow(violation);
  return (
    <li class="card flow">
      <header>
        <h3>
          <FieldLink of={source} /> <span class="arrow" aria-label="reaches" role="img">→</span> <FieldLink of={violation} />
        </h3>
        <p class="line">
          <span class="note-word" title={KIND_HELP[kind]}>{kind}</span>
          <span>{count(hops, "hop")}</span>
          <span>{count(programs.length, "program")}</span>
          {runs && <span>{count(runs.runs, "run")} from <Time ms={runs.first} /> to <Time ms={runs.last} /></span>}
          {runs && <span>still so: <StillSo isCurrent={runs.isCurrent} /></span>}
          {isDrawn && <ShowInDrawing violation={violation} state={state} />}
        </p>
      </header>
      <details open={isOpen}>
        <summary>Path and programs</summary>
        <ol class="flow-path">
          {path.map((step, index) => (
            <Step key={index} step={step} isFirst={index === 0} />
          ))}
        </ol>
        {programs.length === 0 ? <p class="quiet">The programs of this flow are not known.</p> : <Table caption={`Programs of flow ${number}`} columns={PROGRAMS} rows={programs} />}
      </details>
    </li>
  );
}

function Step({ step, isFirst }: { step: FlowStep; isFirst: boolean }) {
  const { kind, operation } = step;
  return (
    <li>
      {!isFirst && (
        <>
          <p class="quiet">{kind || "not known how"}</p>
          {operation && operation !== kind && <Description text={operation} />}
        </>
      )}
      <FieldLink of={step} to={{ view: "operations" }} />
    </li>
  );
}

function StillSo({ isCurrent }: { isCurrent: boolean }) {
  return isCurrent ? <strong class="bad">yes</strong> : <>no</>;
}

/** Highlight in the drawing what leads to the reached field; pressed again, nothing. */
function ShowInDrawing({ violation: { namespace, name, field }, state: { on } }: { violation: Violation; state: PageState }) {
  const isOn = on?.ns === namespace && on.name === name && on.field === field;
  if (useNarrow()) return null;
  return (
    <Button kind="quiet" icon="graph" label={`Highlight what leads to ${field} of ${name}`} pressed={isOn} onClick={() => replace({ on: isOn ? undefined : { ns: namespace, name, field } })}>
      Highlight
    </Button>
  );
}
