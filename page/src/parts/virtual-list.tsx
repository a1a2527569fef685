/** A list that draws only the rows that are in view: thousands of fields cost as much as dozens. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Height of a row in rem; `.virtual-list li` has the same in the style sheet. */
const ROW_REM = 2;
/** Rows beyond each edge, so that scrolling and tabbing find them drawn. */
const MARGIN_ROWS = 12;

interface VirtualListProps {
  label: string;
  count: number;
  row: (index: number) => ComponentChildren;
  rowKey: (index: number) => string;
  /** A row that must be in view, such as the selected one. */
  visible?: number;
}

export function VirtualList({ label, count, row, rowKey, visible }: VirtualListProps) {
  const box = useRef<HTMLUListElement>(null);
  const [range, setRange] = useState({ first: 0, stop: 40 });
  const measure = () => {
    if (box.current) setRange((before) => rangeInView(box.current as HTMLElement, before));
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (box.current && visible !== undefined && visible >= 0) scrollToRow(box.current, visible);
    measure();
  }, [visible, count]);
  const first = Math.min(range.first, Math.max(0, count - 1));
  const stop = Math.min(range.stop, count);
  const indices = Array.from({ length: Math.max(0, stop - first) }, (_, offset) => first + offset);
  return (
    <ul ref={box} class="virtual-list" aria-label={label} onScroll={measure} onKeyDown={moveFocus}>
      <li class="spacer" aria-hidden="true" style={{ height: `${first * ROW_REM}rem` }} />
      {indices.map((index) => (
        <li key={rowKey(index)} aria-setsize={count} aria-posinset={index + 1}>
          {row(index)}
        </li>
      ))}
      <li class="spacer" aria-hidden="true" style={{ height: `${(count - stop) * ROW_REM}rem` }} />
    </ul>
  );
}

/** Move the focus a row up or down by the arrow keys, to what comes first in the row. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.target instanceof Element)) return;
  const row = event.target.closest("li");
  const next = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  next?.querySelector<HTMLElement>("a, button")?.focus();
  event.preventDefault();
}

function rowPixels(): number {
  return ROW_REM * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

function rangeInView(box: HTMLElement, before: { first: number; stop: number }) {
  const pixels = rowPixels();
  const first = Math.max(0, Math.floor(box.scrollTop / pixels) - MARGIN_ROWS);
  const stop = Math.ceil((box.scrollTop + box.clientHeight) / pixels) + MARGIN_ROWS;
  return before.first === first && before.stop === stop ? before : { first, stop };
}

function scrollToRow(box: HTMLElement, index: number): void {
  const pixels = rowPixels();
  const top = index * pixels;
  if (top < box.scrollTop || top + pixels > box.scrollTop + box.clientHeight) box.scrollTop = top - 3 * pixels;
}
