/** The panel that chooses a window: a preset, or two times. */

import { useState } from "preact/hooks";
import { setPreference } from "../browser/preferences";
import { push } from "../state/navigation";
import type { WindowText } from "../state/page-state";
import { useRefusal } from "../state/shown-window";
import { parseTyped, toTyped } from "../state/time-input";
import { presetOf, PRESETS, resolveTime, type Zone } from "../state/window";
import { Button } from "./button";
import { useZone } from "./time";

interface WindowPickerProps {
  window: WindowText;
  close: () => void;
  /** What a choice changes: the window of the page by default. */
  set?: (window: WindowText) => void;
}

export function WindowPicker({ window, close, set = push }: WindowPickerProps) {
  const current = presetOf(window);
  const choose = (change: WindowText) => {
    set(change);
    close();
  };
  return (
    <div class="window-picker">
      <ul class="menu-list" aria-label="Presets">
        {PRESETS.map(({ label, start, end }) => (
          <li key={label}>
            <button type="button" aria-current={label === current?.label ? "true" : undefined} onClick={() => choose({ start, end })}>
              {label}
            </button>
          </li>
        ))}
      </ul>
      <ExactTimes window={window} choose={choose} />
    </div>
  );
}

function ExactTimes({ window, choose }: { window: WindowText; choose: (window: WindowText) => void }) {
  const zone = useZone();
  const [typed, setTyped] = useState({ start: toTyped(window.start, zone), end: toTyped(window.end, zone) });
  const [wrong, setWrong] = useState<Partial<WindowText>>({});
  const changeZone = (next: Zone) => {
    const texts = parseBoth(typed, zone);
    setTyped({ start: toTyped(texts.start ?? typed.start, next), end: toTyped(texts.end ?? typed.end, next) });
    setPreference("zone", next === "local" ? next : undefined);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const { start, end } = parseBoth(typed, zone);
    const faults = findFaults(start, end);
    setWrong(faults);
    if (start !== undefined && end !== undefined && !faults.start && !faults.end) choose({ start, end });
  };
  return (
    <form onSubmit={submit}>
      <TimeInput label="From (included)" value={typed.start} fault={wrong.start} set={(start) => setTyped({ ...typed, start })} />
      <TimeInput label="To (excluded)" value={typed.end} fault={wrong.end} set={(end) => setTyped({ ...typed, end })} />
      <p class="hint">
        <code>2026-11-01 06:00</code>, <code>now-7d</code> or epoch seconds
      </p>
      <fieldset class="zones">
        <legend class="unseen">Time zone</legend>
        {(["utc", "local"] as const).map((key) => (
          <label key={key}>
            <input type="radio" name="zone" checked={zone === key} onChange={() => changeZone(key)} />
            {key === "utc" ? "UTC" : "Local time"}
          </label>
        ))}
      </fieldset>
      <Button kind="primary" type="submit">
        Show this window
      </Button>
    </form>
  );
}

interface TimeInputProps {
  label: string;
  value: string;
  fault: string | undefined;
  set: (text: string) => void;
}

function TimeInput({ label, value, fault, set }: TimeInputProps) {
  return (
    <label class="time-input">
      <span>{label}</span>
      <input type="text" value={value} spellcheck={false} aria-invalid={fault !== undefined} onInput={(event) => set(event.currentTarget.value)} />
      {fault && <span class="field-problem" role="alert">{fault}</span>}
    </label>
  );
}

/** What the API refused about the window, beside its control. */
export function WindowRefusal({ window }: { window: WindowText }) {
  const [start, end] = [useRefusal("start", window), useRefusal("end", window)];
  if (start === undefined && end === undefined) return null;
  return (
    <span class="field-problem" role="alert">
      {start !== undefined && `${refusalText("“From”", start)} `}
      {end !== undefined && refusalText("“To”", end)}
    </span>
  );
}

/** Say why a bound was refused; the API calls the other one by the name of its parameter. */
function refusalText(bound: string, detail: string): string {
  const isPredicate = detail.startsWith("is ");
  return `${bound}${isPredicate ? "" : ":"} ${detail.replace(/\bend$/, "“To”").replace(/\bstart$/, "“From”")}.`;
}

function parseBoth(typed: WindowText, zone: Zone): Partial<WindowText> {
  const now = Date.now() / 1000;
  return { start: parseTyped(typed.start, zone, now), end: parseTyped(typed.end, zone, now) };
}

function findFaults(start: string | undefined, end: string | undefined): Partial<WindowText> {
  const now = Date.now() / 1000;
  const isReversed = start !== undefined && end !== undefined && (resolveTime(start, now) ?? 0) > (resolveTime(end, now) ?? 0);
  return {
    start: start === undefined ? "This is no time." : undefined,
    end: end === undefined ? "This is no time." : isReversed ? "It ends before it begins." : undefined,
  };
}
