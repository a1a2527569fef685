/** The base window of a comparison: two times, as the window has them, or the window just before. */
import { useEffect, useId, useState } from "preact/hooks";
import { ApiProblem, type Offline } from "../api/client";
import { push } from "../state/navigation";
import type { WindowText } from "../state/page-state";
import { parseTyped, toTyped } from "../state/time-input";
import { Button } from "./button";
import { Link } from "./link";
import { useZone } from "./time";

interface BaseBarProps {
  /** Undefined for the default of the API: as long as the window, and just before it. */
  base?: WindowText;
  /** What the API refused: about the base window it stands beside its control. */
  problem?: ApiProblem | Offline;
}

const NO_TIME = "This is no time.";

export function BaseBar({ base, problem }: BaseBarProps) {
  const zone = useZone();
  const shown = { start: base ? toTyped(base.start, zone) : "", end: base ? toTyped(base.end, zone) : "" };
  const [typed, setTyped] = useState<WindowText>(shown);
  const [wrong, setWrong] = useState<Partial<WindowText>>({});
  useEffect(() => {
    setTyped(shown);
    setWrong({});
  }, [shown.start, shown.end]);
  const apply = (event: Event) => {
    event.preventDefault();
    const now = Date.now() / 1000;
    const [start, end] = [parseTyped(typed.start, zone, now), parseTyped(typed.end, zone, now)];
    setWrong({ start: start === undefined ? NO_TIME : undefined, end: end === undefined ? NO_TIME : undefined });
    if (start !== undefined && end !== undefined) push({ base: { start, end } });
  };
  const errors = problem instanceof ApiProblem ? problem.errors : [];
  const refused = (at: string) => errors.find((error) => error.at === at)?.detail;
  return (
    <form class="base-bar" onSubmit={apply} aria-label="Base window">
      <span class="quiet">Compared with runs from</span>
      <BaseTime label="Start of the base window" value={typed.start} set={(start) => setTyped({ ...typed, start })} fault={wrong.start ?? refused("baseStart")} />
      <span class="quiet">to</span>
      <BaseTime label="End of the base window" value={typed.end} set={(end) => setTyped({ ...typed, end })} fault={wrong.end ?? refused("baseEnd")} />
      <Button type="submit">Compare</Button>
      {base && <Link to={{ base: undefined }}>Just before the window</Link>}
    </form>
  );
}

interface BaseTimeProps {
  label: string;
  value: string;
  set: (text: string) => void;
  fault?: string;
}

function BaseTime({ label, value, set, fault }: BaseTimeProps) {
  const id = useId();
  return (
    <span class="base-time">
      <input
        type="text"
        aria-label={label}
        placeholder="now-60d or 2026-11-01"
        value={value}
        onInput={(event) => set(event.currentTarget.value)}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : id}
        spellcheck={false}
      />
      {fault !== undefined && (
        <span id={id} class="field-problem" role="alert">
          {fault}
        </span>
      )}
    </span>
  );
}
