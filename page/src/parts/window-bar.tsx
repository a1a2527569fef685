/** The window of all queries: presets, exact times, steps, and what was answered. */

import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { exactWindow, useShownWindow } from "../state/shown-window";
import { formatTime, pinWindow, presetOf, stepWindow, zoneName } from "../state/window";
import { Button } from "./button";
import { Menu } from "./menu";
import { RunStrip } from "./run-strip";
import { useZone } from "./time";
import { WindowPicker, WindowRefusal } from "./window-picker";

export function WindowBar({ state }: { state: PageState }) {
  const zone = useZone();
  const answered = useShownWindow(state);
  const shown = answered ?? exactWindow(state);
  const isRelative = `${state.start}${state.end}`.includes("now");
  const step = (steps: 1 | -1) => shown && push(stepWindow(shown.from, shown.to, steps));
  return (
    <div class="window-bar" role="group" aria-label="Window">
      <span class="window-label">Runs started</span>
      <div class="joined">
        <Button icon="back" label="The window before" onClick={() => step(-1)} disabled={!shown || shown.from <= 0} />
        <Menu text={presetOf(state)?.label ?? (isRelative ? `${state.start} to ${state.end}` : "Exact times")}>
          {(close) => <WindowPicker window={state} close={close} />}
        </Menu>
        <Button icon="forth" label="The window after" onClick={() => step(1)} disabled={!shown} />
      </div>
      <output class="window-times">
        {shown && (
          <>
            <span class="time">{formatTime(shown.from, zone)} –</span> <span class="time">{formatTime(shown.to, zone)}</span>{" "}
            {zoneName(shown.to, zone)}
          </>
        )}
      </output>
      {isRelative && <Button kind="quiet" icon="pin" label="Pin these exact times" disabled={!shown} onClick={() => shown && push(pinWindow(shown.from, shown.to))} />}
      <WindowRefusal window={state} />
      <RunStrip state={state} shown={answered} />
    </div>
  );
}
