/** Which part of the picture is seen: pure arithmetic of panning and zooming. */

/** The picture is drawn `scale` times its size, its corner at `x` and `y` pixels from that of the frame. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Area extends Size {
  readonly x: number;
  readonly y: number;
}

const SCALE_MIN = 0.1;
const SCALE_MAX = 3;
/** Below this scale names cannot be read: a larger picture is cut at first. */
const READABLE = 0.65;
/** Pixels of the picture that stay in the frame however far it is moved. */
const VISIBLE = 80;
const MARGIN = 24;

export function panBy({ x, y, scale }: Viewport, dx: number, dy: number): Viewport {
  return { x: x + dx, y: y + dy, scale };
}

/** Zoom by a factor; the point of the picture at `at`, in pixels of the frame, stays there. */
export function zoomAt(view: Viewport, at: { x: number; y: number }, factor: number): Viewport {
  const scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, view.scale * factor));
  const ratio = scale / view.scale;
  return { x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio, scale };
}

/** Show all of a picture, not larger than it is; with `readable` cut around an area if it would be too small. */
export function fit(picture: Size, frame: Size, readable?: Area): Viewport {
  const whole = Math.min(1, frame.width / picture.width, frame.height / picture.height);
  const scale = Math.max(readable ? READABLE : SCALE_MIN, whole);
  const center = (size: number, room: number, focus: number) =>
    size * scale <= room ? (room - size * scale) / 2 : Math.min(0, Math.max(room - size * scale, room / 2 - focus * scale));
  const focus = readable ?? { x: 0, y: 0, width: picture.width, height: picture.height };
  return {
    x: center(picture.width, frame.width, focus.x + focus.width / 2),
    y: center(picture.height, frame.height, focus.y + focus.height / 2),
    scale,
  };
}

/** Keep some of the picture in the frame. */
export function keepVisible({ x, y, scale }: Viewport, picture: Size, frame: Size): Viewport {
  const clamp = (value: number, size: number, room: number) =>
    Math.min(room - Math.min(VISIBLE, room), Math.max(Math.min(VISIBLE, room) - size * scale, value));
  return { x: clamp(x, picture.width, frame.width), y: clamp(y, picture.height, frame.height), scale };
}

/** Move the picture by as little as brings an area of it into the frame. */
export function reveal(view: Viewport, area: Area, frame: Size): Viewport {
  const move = (start: number, size: number, room: number) => {
    if (start < MARGIN) return MARGIN - start;
    return start + size > room - MARGIN ? Math.max(room - MARGIN - start - size, MARGIN - start) : 0;
  };
  const [left, top] = [view.x + area.x * view.scale, view.y + area.y * view.scale];
  const dx = move(left, area.width * view.scale, frame.width);
  return panBy(view, dx, move(top, area.height * view.scale, frame.height));
}

/** Move the picture so that a point of it stays where it was before it moved within the picture. */
export function holdPlace(view: Viewport, before: { x: number; y: number }, after: { x: number; y: number }): Viewport {
  return panBy(view, (before.x - after.x) * view.scale, (before.y - after.y) * view.scale);
}
