/** The window that the one of the page is compared with. */

import { Button } from "../parts/button";
import { Menu } from "../parts/menu";
import { useZone } from "../parts/time";
import { WindowPicker } from "../parts/window-picker";
import { push } from "../state/navigation";
import type { WindowText } from "../state/page-state";
import { formatTime, presetOf, zoneName } from "../state/window";

interface BaseWindowProps {
  /** Null until it is known. */
  base: WindowText | null;
  /** Whether the address names it; else it is the window before. */
  isChosen: boolean;
  /** What was answered, in epoch seconds. */
  answered: { start: number; end: number } | undefined;
}

export function BaseWindow({ base, isChosen, answered }: BaseWindowProps) {
  const zone = useZone();
  const label = isChosen && base ? (presetOf(base)?.label ?? "Exact times") : "The window before";
  return (
    <div class="base-window" role="group" aria-label="Base window">
      <span class="base-label">Compared with runs started</span>
      <Menu text={label}>
        {(close) => base && <WindowPicker window={base} close={close} set={(chosen) => push({ base: chosen })} />}
      </Menu>
      <output class="window-times">
        {answered && `${formatTime(answered.start, zone)} – ${formatTime(answered.end, zone)} ${zoneName(answered.end, zone)}`}
      </output>
      {isChosen && <Button kind="quiet" onClick={() => push({ base: undefined })}>The window before</Button>}
    </div>
  );
}
