/** The paths of flows as one drawing, with what leads to the selected field highlighted. */
import { useRef } from "preact/hooks";
import { useNarrow } from "../browser/use-narrow";
import type { Violation } from "../api/answers";
import { isHiddenNamespace } from "../api/hidden-names";
import { Canvas } from "../graph/canvas";
import type { Row } from "../graph/keys";
import { Legend } from "../graph/legend";
import { findField, keyOf, refOf, type Graph } from "../graph/model";
import { usePicture } from "../graph/use-picture";
import { push, replace } from "../state/navigation";
import type { PageState } from "../state/page-state";

interface FlowDrawingProps {
  graph: Graph;
  state: PageState;
  /** The flow whose tagged field is in the middle at first. */
  first: Violation;
}

/** Not on a narrow screen, where the list of flows has the paths. */
export function FlowDrawing({ graph, state, first }: FlowDrawingProps) {
  const drawing = useRef<SVGSVGElement>(null);
  const selected = selectedRow(graph, state);
  const { traces, plan, wires } = usePicture(graph, { selected, isSubject: false, sides: ["into", "out"], open: state.open ?? [] });
  if (useNarrow()) return null;
  return (
    <div class="explorer alone flow-drawing">
      <div class="canvas-box">
        <Canvas
          {...{ plan, wires, traces, selected, drawing }}
          label="Paths of the flows"
          subject={keyOf(first.source)}
          select={(row) => replace({ on: row?.field && refOf(row.field) })}
          open={openGraph}
          unfold={({ box }) => replace({ open: [...(state.open ?? []), box.key] })}
        />
        <Legend graph={graph} />
      </div>
    </div>
  );
}

function selectedRow(graph: Graph, { on }: PageState): Row | undefined {
  const field = on && findField(graph, { namespace: on.ns, name: on.name }, on.field);
  return field && { box: field.box, field };
}

function openGraph({ box, field }: Row): void {
  if (isHiddenNamespace(box.namespace)) return;
  push({ view: "graph", ns: box.namespace, name: box.name, field: field?.name });
}
