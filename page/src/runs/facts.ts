/** What is recorded of one run: its state in words, its datasets by direction, and facts of its document's choice. */
import type { DatasetName, RunDetails, RunState } from "../api/answers";
import { HIDDEN_MEMBERS } from "../api/hidden-names";

/** A state in words, with what it means for the answers of the page. */
export interface StateText {
  word: string;
  meaning: string;
}

const STATES: Record<RunState, StateText> = {
  COMPLETE: { word: "Complete", meaning: "Its lineage counts." },
  RUNNING: { word: "Running", meaning: "It has not ended; its lineage so far counts." },
  FAIL: { word: "Failed", meaning: "Its lineage counts only where failed runs are included." },
  ABORT: { word: "Aborted", meaning: "Its lineage counts only where failed runs are included." },
};

const SILENT: StateText = { word: "No end reported", meaning: "Its last event is more than a day old." };

/** Return the state of a run in words; a run that has been silent for a day has none. */
export function describeState(state: RunState | undefined): StateText {
  return state === undefined ? SILENT : STATES[state];
}

/** Return whether a run failed or was aborted. */
export function hasFailed({ state }: Pick<RunDetails, "state">): boolean {
  return state === "FAIL" || state === "ABORT";
}

/** Return the datasets that a run read, and those that it wrote; one that it did both with is in both. */
export function byDirection({ endpoints }: Pick<RunDetails, "endpoints">): { read: DatasetName[]; written: DatasetName[] } {
  return {
    read: endpoints.filter(({ direction }) => direction !== "backward"),
    written: endpoints.filter(({ direction }) => direction !== "forward"),
  };
}

const SHOWN_ELSEWHERE = new Set([
  ...["run", "namespace", "application", "version", "type", "program", "startTime", "state", "checksum"],
  ...["endpoints", "operations", "sql", "errorMessage", "parent", "parentJob", "root", "physicalNames", "events"],
  ...["lastEventTime", "nominalStartTime", "nominalEndTime"],
]);

/** Return the other members of a run, which its document chose, as texts by name. */
export function otherFacts(run: RunDetails): [string, string][] {
  return Object.entries(run)
    .filter(([name]) => !SHOWN_ELSEWHERE.has(name) && !("hidden" in run && HIDDEN_MEMBERS.includes(name)))
    .map(([name, fact]) => [name, typeof fact === "string" ? fact : JSON.stringify(fact)]);
}

/** Return the seconds from the start of a run to its last event, undefined without events after the start. */
export function secondsUntilLastEvent({ startTime, events }: RunDetails): number | undefined {
  const last = Math.max(...(events ?? []).map((event) => event.eventTime));
  return last > startTime ? (last - startTime) / 1000 : undefined;
}
