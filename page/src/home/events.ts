/** Recent documents. */
import type { ActivityEvent } from "../api/answers";
import { count } from "../browser/numbers";

/** Return documents with the newest first. */
export function sortEvents(events: readonly ActivityEvent[]): ActivityEvent[] {
  return [...events].sort((one, other) => other.time - one.time);
}

/** Say what became of a document. */
export function outcomeText({ outcome, warnings = 0 }: Pick<ActivityEvent, "outcome" | "warnings">): string {
  return warnings > 0 ? `${outcome}, ${count(warnings, "warning")}` : outcome;
}
