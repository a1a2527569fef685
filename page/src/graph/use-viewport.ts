/** Panning and zooming of the picture by pointer, wheel and pinch. The picture moves without being rendered again. */

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { fit, keepVisible, panBy, zoomAt, type Area, type Size, type Viewport } from "./viewport";

const DRAG_MIN = 4;
const WHEEL_ZOOM = 0.0022;

export interface ViewportControl {
  /** Change what is seen. */
  update: (change: (view: Viewport, frame: Size) => Viewport) => void;
  zoom: (factor: number) => void;
  fitAll: (readable?: Area) => void;
  /** Whether the pointer moved the picture since it went down: then it was no click. */
  wasDragged: () => boolean;
}

/** `frame` is the element that cuts the picture, `plane` the one that moves, `picture` the size of what it holds. */
export function useViewport(frame: RefObject<HTMLElement | null>, plane: RefObject<HTMLElement | null>, picture: Size): ViewportControl {
  const latest = useRef<State>({ picture, view: { x: 0, y: 0, scale: 1 }, isDragged: false, frame: 0, size: undefined });
  latest.current.picture = picture;
  const control = useMemo(() => createControl(frame, plane, latest), []);
  useEffect(() => listen(frame.current!, control, latest), []);
  return control;
}

/** `size` is that of the frame: measuring it at each change would lay out the page again. */
interface State {
  picture: Size;
  view: Viewport;
  isDragged: boolean;
  frame: number;
  size: Size | undefined;
}
type Latest = RefObject<State>;

function measure({ clientWidth, clientHeight }: HTMLElement): Size {
  return { width: clientWidth, height: clientHeight };
}

function createControl(frame: RefObject<HTMLElement | null>, plane: RefObject<HTMLElement | null>, latest: Latest): ViewportControl {
  const sizeOf = (): Size => (latest.current!.size ??= measure(frame.current!));
  const show = () => {
    const [{ view }, element] = [latest.current!, plane.current];
    const scaled = element?.querySelector("svg > g");
    latest.current!.frame = 0;
    if (!element || !scaled) return;
    element.style.transform = `translate(${Math.round(view.x)}px, ${Math.round(view.y)}px)`;
    // Only a new scale is drawn again; a move shifts what is drawn, and must not touch it.
    const scale = `scale(${view.scale})`;
    if (scaled.getAttribute("transform") !== scale) scaled.setAttribute("transform", scale);
  };
  const update: ViewportControl["update"] = (change) => {
    const state = latest.current!;
    state.view = keepVisible(change(state.view, sizeOf()), state.picture, sizeOf());
    state.frame ||= requestAnimationFrame(show);
  };
  return {
    update,
    zoom: (factor) => update((view, { width, height }) => zoomAt(view, { x: width / 2, y: height / 2 }, factor)),
    fitAll: (readable) => update((_, size) => fit(latest.current!.picture, size, readable)),
    wasDragged: () => latest.current!.isDragged,
  };
}

function listen(frame: HTMLElement, { update }: ViewportControl, latest: Latest): () => void {
  const pointers = new Map<number, { x: number; y: number }>();
  const at = ({ clientX, clientY }: MouseEvent) => {
    const { left, top } = frame.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, at(event));
    if (pointers.size === 1) latest.current!.isDragged = false;
  };
  const move = (event: PointerEvent) => {
    const [before, now] = [pointers.get(event.pointerId), at(event)];
    if (!before) return;
    const state = latest.current!;
    if (!state.isDragged && Math.hypot(now.x - before.x, now.y - before.y) < DRAG_MIN) return;
    state.isDragged = true;
    frame.setPointerCapture(event.pointerId);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    if (!other) return update((view) => panBy(view, now.x - before.x, now.y - before.y));
    const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    return update((view) => panBy(zoomAt(view, middle, factor), (now.x - before.x) / 2, (now.y - before.y) / 2));
  };
  const up = (event: PointerEvent) => pointers.delete(event.pointerId);
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [dx, dy] = event.shiftKey && event.deltaX === 0 ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    // Browsers report a pinch on a touchpad as a wheel with Control.
    if (event.ctrlKey || event.metaKey) update((view) => zoomAt(view, at(event), Math.exp(-event.deltaY * unit * WHEEL_ZOOM)));
    else update((view) => panBy(view, -dx * unit, -dy * unit));
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up } as const;
  for (const [type, listener] of Object.entries(listeners)) frame.addEventListener(type, listener as EventListener);
  frame.addEventListener("wheel", wheel, { passive: false });
  const sizes = new ResizeObserver(() => {
    latest.current!.size = measure(frame);
    update((view) => view);
  });
  sizes.observe(frame);
  return () => {
    sizes.disconnect();
    for (const [type, listener] of Object.entries(listeners)) frame.removeEventListener(type, listener as EventListener);
    frame.removeEventListener("wheel", wheel);
  };
}
