/** A graph as picture or table, with its tools and what is selected. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { isHiddenNamespace } from "../api/hidden-names";
import { fileName } from "../browser/files";
import { useKeys } from "../browser/use-keys";
import { useNarrow } from "../browser/use-narrow";
import { push, replace } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { Canvas } from "./canvas";
import { captionOf, countText } from "./caption";
import type { Asked } from "./csv";
import type { FileKind, saveGraph } from "./export";
import { Find } from "./find";
import type { Row } from "./keys";
import { Legend } from "./legend";
import { countGraph, EVERY_ROW, findField, isUnordered, keyOf, refOf, type Graph } from "./model";
import { PairTable } from "./pair-table";
import { Panel } from "./panel";
import { Tools } from "./tools";
import type { Side } from "./trace";
import { usePicture } from "./use-picture";

const FIELD_LEVEL = 3;
const DATASET_LEVEL = 1;

interface ExplorerProps {
  state: PageState;
  graph: Graph;
  asked: Asked;
  /** Says more of what is shown, beside the counts. */
  summary?: ComponentChildren;
  /** Shown in place of a graph without links. */
  empty: ComponentChildren;
  saveAs: typeof saveGraph;
}

export function levelOf({ level, field }: PageState): number {
  return level ?? (field === undefined ? DATASET_LEVEL : FIELD_LEVEL);
}

export function Explorer({ state, graph, asked, summary, empty, saveAs }: ExplorerProps) {
  const drawing = useRef<SVGSVGElement>(null);
  const [isFinding, setFinding] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [isTable, setTable] = useTable(state);
  const selected = selectedRow(state, graph);
  const { traces, plan, wires } = usePicture(graph, { selected, isSubject: isSubject(state), sides: sidesOf(state), open: state.open ?? [] });
  const counts = countText(countGraph(graph));
  const title = captionOf(state, asked, counts);
  const isEmpty = graph.links.length + graph.unknown.length === 0;
  const select = (row: Row | undefined) => replace({ on: row && refOfRow(row) });
  const find = () => setFinding(true);
  const leaveFind = () => {
    drawing.current?.querySelector<SVGElement>('[tabindex="0"]')?.focus({ preventScroll: true });
    setFinding(false);
  };
  useKeys(isTable ? {} : { f: find, Escape: () => select(undefined) });
  const save = (kind: FileKind) => {
    const name = fileName([state.ns, state.name, state.field], kind);
    const shown = { graph, asked, drawing: drawing.current, title };
    setProblem(undefined);
    saveAs(name, kind, shown).catch((error: Error) => setProblem(error.message));
  };
  return (
    <>
      <Tools {...{ state, isTable, setTable, save }} level={levelOf(state)} find={isTable || isEmpty ? undefined : find} hasPicture={!isTable && !isEmpty}>
        {!isEmpty && counts}
        {!isEmpty && summary}
      </Tools>
      {problem && <p class="bad" role="alert">The file could not be saved: {problem}</p>}
      {state.on && !selected && <p class="of not-there">What is selected is not in this graph.</p>}
      {isEmpty ? (
        empty
      ) : isTable ? (
        <PairTable graph={graph} caption={title} />
      ) : (
        <div class={selected ? "explorer" : "explorer alone"}>
          <div class="canvas-box">
            <Canvas {...{ plan, wires, traces, selected, drawing, select, open }} label={title} subject={keyOf({ namespace: state.ns ?? "", name: state.name ?? "" })} unfold={(row) => replace({ open: [...(state.open ?? []), row.box.key] })} />
            {isFinding && <Find plan={plan} choose={(field) => { leaveFind(); select({ box: field.box, field }); }} close={leaveFind} />}
            <Legend graph={graph} />
          </div>
          {selected && <Panel key={selected.box.key + selected.field?.name} selected={selected} traces={traces} note={noteOf(state, selected, graph)} />}
        </div>
      )}
    </>
  );
}

/** At 360 px a table is shown unless the reader asks for the picture. */
function useTable({ as }: PageState): [boolean, (isTable: boolean) => void] {
  const isNarrow = useNarrow();
  const [isForced, setForced] = useState(false);
  const set = (isTable: boolean) => {
    setForced(!isTable);
    replace({ as: isTable ? "table" : undefined });
  };
  return [as === "table" || (isNarrow && !isForced), set];
}

/** Return what the address selects; without that, the field that the graph is about. */
function selectedRow({ on, ns = "", name = "", field }: PageState, graph: Graph): Row | undefined {
  const ref = on ?? (field === undefined ? undefined : { ns, name, field });
  if (ref === undefined) return undefined;
  const box = graph.boxes.find(({ key }) => key === keyOf({ namespace: ref.ns, name: ref.name }));
  if (!box) return undefined;
  const found = findField(graph, box, ref.field);
  return ref.field !== undefined && !found ? undefined : { box, field: found };
}

function refOfRow({ box, field }: Row) {
  return field ? refOf(field) : { ns: box.namespace, name: box.name };
}

/** A field opens as the graph of its own; its own graph opens its operations; a dataset its screen; what is hidden nothing. */
function open({ box, field }: Row): void {
  if (isHiddenNamespace(box.namespace)) return;
  const place = { ns: box.namespace, name: box.name };
  const { search } = location;
  if (!field) push({ view: "dataset", ...place });
  else push({ view: "graph", ...place, field: field.name });
  if (location.search === search) push({ view: "operations", ...place, ...(field && { field: field.name }) });
}

function sidesOf({ direction, on, field }: PageState): Side[] {
  // Of the field asked for only one side is in the answer; of others whatever the graph has.
  if (on === undefined && field !== undefined && direction === "backward") return ["into"];
  if (on === undefined && field !== undefined && direction === "forward") return ["out"];
  return ["into", "out"];
}

/** Return whether the field that is selected is the one that the graph is about. */
function isSubject({ on, ns, name, field }: PageState): boolean {
  return field !== undefined && (on === undefined || (on.ns === ns && on.name === name && on.field === field));
}

/** Say how far the lists of the panel go. */
function noteOf(state: PageState, { field: selected }: Row, graph: Graph): string {
  const { field } = state;
  if (selected === undefined) return "";
  if (field === undefined) return "Followed over the direct pairs of this graph only: the graph of the field has all of it.";
  const level = levelOf(state);
  if (isSubject(state)) return `Within ${level} hop${level === 1 ? "" : "s"}.`;
  const order = graph.links.some(isUnordered) ? ` Whether a link is in order is known as seen from ${field === EVERY_ROW ? "every row" : field} of ${state.name} only.` : "";
  return `Within this graph: the graph of the field has all of it.${order}`;
}
