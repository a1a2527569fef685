/** The graph on the screen: one tab stop, keys, clicks, and a view that stays where the selected box is. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../browser/use-keys";
import { Button } from "../parts/button";
import { Drawing } from "./drawing";
import { moveFocus, rowsOf, type Focus, type Row } from "./keys";
import { HEADER, ROW, type PlacedBox, type Plan } from "./scene";
import type { Trace } from "./trace";
import { useViewport, type ViewportControl } from "./use-viewport";
import { holdPlace, reveal, type Area } from "./viewport";
import type { Wire } from "./wires";

interface CanvasProps {
  plan: Plan;
  wires: readonly Wire[];
  traces: readonly Trace[];
  label: string;
  selected: Row | undefined;
  /** The key of the dataset that the graph is about. */
  subject: string;
  drawing: RefObject<SVGSVGElement | null>;
  select: (row: Row | undefined) => void;
  open: (row: Row) => void;
  unfold: (row: Row) => void;
}

const ZOOM = 1.25;

export function Canvas(props: CanvasProps) {
  const { plan, wires, traces, label, selected, drawing } = props;
  const [frame, plane] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const view = useViewport(frame, plane, plan);
  const [moved, setMoved] = useState<Focus | undefined>();
  const focus = currentFocus(plan, moved, selected);
  useAnchor(plan, selected, props.subject, view);
  useEffect(() => {
    if (selected) view.update((now, size) => reveal(now, areaOf(plan, selected), size));
    setMoved(selected);
  }, [selected?.box.key, selected?.field?.name]);

  const moveTo = (next: Focus) => {
    setMoved(next);
    view.update((now, size) => reveal(now, areaOf(plan, next), size));
  };
  useFocusElement(frame, plan, focus, moved);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event.key, { ...props, focus, moveTo })) event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const row = view.wasDragged() ? undefined : rowAt(plan, event.target);
    if (!row) return;
    setMoved(row.row);
    if (row.isMore) props.unfold(row.row);
    else props.select(row.row);
  };
  const onDblClick = ({ target }: MouseEvent) => {
    const row = rowAt(plan, target);
    if (row && !row.isMore) props.open(row.row);
  };
  return (
    <div class="canvas">
      <div ref={frame} class="canvas-frame" onKeyDown={onKeyDown} onClick={onClick} onDblClick={onDblClick}>
        <div ref={plane} class="canvas-plane">
          <Drawing {...{ plan, wires, traces, label, selected, drawing }} focus={focus} />
        </div>
      </div>
      <Zoom view={view} />
    </div>
  );
}

function Zoom({ view }: { view: ViewportControl }) {
  const [larger, smaller, all] = [() => view.zoom(ZOOM), () => view.zoom(1 / ZOOM), () => view.fitAll()];
  useKeys({ "+": larger, "=": larger, "-": smaller, "−": smaller, "0": all });
  return (
    <div class="zoom" role="group" aria-label="Zoom">
      <Button kind="quiet" label="Larger (+)" icon="plus" onClick={larger} />
      <Button kind="quiet" label="Smaller (−)" icon="minus" onClick={smaller} />
      <Button kind="quiet" label="All of it (0)" icon="fit" onClick={all} />
    </div>
  );
}

type KeyContext = CanvasProps & { focus: Focus | undefined; moveTo: (focus: Focus) => void };

/** Act on a key; returns whether it meant something. */
function handleKey(key: string, { plan, focus, moveTo, select, open, unfold }: KeyContext): boolean {
  const actions: Record<string, (() => void) | undefined> = {
    o: focus && (() => open(focus)),
    Enter: focus && (() => (focus.field ? select(focus) : unfold(focus))),
    " ": focus && (() => (focus.field ? select(focus) : unfold(focus))),
  };
  const next = focus && moveFocus(plan, focus, key);
  const action = actions[key] ?? (next && (() => moveTo(next)));
  action?.();
  return action !== undefined;
}

/** Return the row in focus as the plan has it: after a new answer or layout it may be another object, or hidden. */
function currentFocus(plan: Plan, moved: Focus | undefined, selected: Row | undefined): Focus | undefined {
  const rows = rowsOf(plan);
  const isShown = (row: Row | undefined) => row && rows.some(({ box, field }) => box === row.box && field === row.field);
  return [moved, selected].find(isShown) ?? rows[0];
}

/** Move the browser's focus with the row in focus, if a key moved it within the graph. */
function useFocusElement(frame: RefObject<HTMLElement | null>, plan: Plan, focus: Focus | undefined, moved: Focus | undefined): void {
  useEffect(() => {
    if (!moved || !focus || !frame.current?.contains(document.activeElement)) return;
    frame.current.querySelector<SVGElement>(`.row[tabindex="0"]`)?.focus({ preventScroll: true });
  }, [plan, moved]);
}

/** Show the picture around what is selected, and hold that box where it is when the layout changes. */
function useAnchor(plan: Plan, selected: Row | undefined, subject: string, view: ViewportControl): void {
  const before = useRef<Plan>(undefined);
  useLayoutEffect(() => {
    const key = selected?.box.key ?? subject;
    const [old, now] = [before.current?.boxes.get(key), plan.boxes.get(key)];
    if (old && now) view.update((current) => holdPlace(current, old, now));
    else view.fitAll(now && areaOfBox(now, plan));
    before.current = plan;
  }, [plan]);
}

function areaOfBox({ x, y, height }: PlacedBox, { boxWidth }: Plan): Area {
  return { x, y, width: boxWidth, height };
}

function areaOf(plan: Plan, { box, field }: Row): Area {
  const placed = plan.boxes.get(box.key);
  if (!placed) return { x: 0, y: 0, width: 0, height: 0 };
  const row = field ? placed.folded.shown.indexOf(field) : -1;
  return { x: placed.x, y: placed.y + (row < 0 ? 0 : HEADER + row * ROW), width: plan.boxWidth, height: row < 0 ? HEADER : ROW };
}

/** Return the row under an event. */
function rowAt(plan: Plan, target: EventTarget | null): { row: Row; isMore: boolean } | undefined {
  if (!(target instanceof Element)) return undefined;
  const box = target.closest<SVGElement>("[data-box]");
  const folded = box && [...plan.boxes.values()][Number(box.dataset.box)]?.folded;
  if (!folded) return undefined;
  const row = target.closest<SVGElement>("[data-row]")?.dataset.row;
  const field = row === undefined ? undefined : folded.shown[Number(row)];
  return { row: { box: folded.box, field }, isMore: row === "-1" };
}
