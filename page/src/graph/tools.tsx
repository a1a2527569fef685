/** The tools of the graph: direction, hops, causal, graph or table, and files. */

import type { ComponentChildren } from "preact";
import { Button } from "../parts/button";
import { Switch } from "../parts/filters";
import { Choice } from "../parts/tabs";
import { push } from "../state/navigation";
import { DIRECTIONS, type Direction, type PageState } from "../state/page-state";
import type { FileKind } from "./export";

const LEVELS = [1, 2, 3, 4, 5, 8, 16, 32];

interface ToolsProps {
  state: PageState;
  level: number;
  isTable: boolean;
  setTable: (isTable: boolean) => void;
  find?: (() => void) | undefined;
  hasPicture: boolean;
  save: (kind: FileKind) => void;
  /** What the graph has, in words. */
  children: ComponentChildren;
}

export function Tools({ state, level, isTable, setTable, find, hasPicture, save, children }: ToolsProps) {
  return (
    <div class="tools" role="group" aria-label="Graph">
      <Choice
        label="Direction"
        options={DIRECTIONS.map((key) => ({ key, label: LABELS[key] }))}
        current={state.direction ?? "both"}
        to={(direction) => ({ direction: direction === "both" ? undefined : direction })}
      />
      <Hops level={level} />
      {state.field !== undefined && (
        <Switch label="Causal" hint="Only what a value can have taken: the run that wrote started before the run that read" on={state.causal} set={(causal) => push({ causal })} />
      )}
      <div class="choice" role="group" aria-label="Shown as">
        <button type="button" aria-pressed={!isTable} onClick={() => setTable(false)}>Graph</button>
        <button type="button" aria-pressed={isTable} onClick={() => setTable(true)}>Table</button>
      </div>
      <p class="status" role="status">{children}</p>
      {find && <Button kind="quiet" icon="search" label="Find in the graph (f)" onClick={find} />}
      <div class="files" role="group" aria-label="Save as">
        {hasPicture && <Button kind="quiet" icon="download" onClick={() => save("svg")}>SVG</Button>}
        {hasPicture && <Button kind="quiet" onClick={() => save("png")}>PNG</Button>}
        <Button kind="quiet" icon={hasPicture ? undefined : "download"} onClick={() => save("csv")}>CSV</Button>
      </div>
    </div>
  );
}

const LABELS: Record<Direction, string> = { both: "Both", backward: "Backward", forward: "Forward" };

function Hops({ level }: { level: number }) {
  const levels = [...new Set([...LEVELS, level])].sort((a, b) => a - b);
  return (
    <label class="hops-choice">
      Hops
      <select value={String(level)} onChange={({ currentTarget }) => push({ level: Number(currentTarget.value) })}>
        {levels.map((each) => <option key={each} value={String(each)}>{each}</option>)}
      </select>
    </label>
  );
}
