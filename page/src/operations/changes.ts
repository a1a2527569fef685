/** What differs between the ways of two windows, as lines: `+` gained, `−` lost. */
import type { ChangedField, Connection, DerivationParts, Diff, DistinctDerivation, FieldName, Operation } from "../api/answers";
import { count, formatCount } from "../browser/numbers";

export type Change = "gained" | "lost";

/** The changes of one kind, gained ones first. */
export interface Changes {
  ways: { change: Change; item: DistinctDerivation }[];
  operations: { change: Change; item: Operation }[];
  links: { change: Change; item: Connection }[];
  sources: { change: Change; item: FieldName }[];
}

/** A diff of a field, by itself or in that of its dataset. */
export type FieldDiff = Diff | ChangedField;

/** Return the changes of an answer. */
export function toChanges({ gained, lost }: FieldDiff): Changes {
  const both = <T>(items: (parts: DerivationParts) => T[]) => [
    ...items(gained).map((item) => ({ change: "gained" as const, item })),
    ...items(lost).map((item) => ({ change: "lost" as const, item })),
  ];
  return {
    ways: both((parts) => parts.derivations),
    operations: both((parts) => parts.operations),
    links: both((parts) => parts.edges),
    sources: both((parts) => parts.sources),
  };
}

/** Return the number of changes. */
export function countChanges({ ways, operations, links, sources }: Changes): number {
  return ways.length + operations.length + links.length + sources.length;
}

/** Return how many of some changes are gained and lost: `2 ways gained, 1 lost`; undefined for none. */
export function countText(changes: readonly { change: Change }[], one: string, more: string): string | undefined {
  const counts = (["gained", "lost"] as const).map((change) => ({ change, number: changes.filter((each) => each.change === change).length }));
  const [first, second] = counts.filter(({ number }) => number > 0);
  if (first === undefined) return undefined;
  return `${count(first.number, one, more)} ${first.change}${second ? `, ${formatCount(second.number)} ${second.change}` : ""}`;
}

/** Return how many parts both windows have, as a sentence. */
export function commonText({ kept }: FieldDiff): string {
  return kept === 0 ? "No operation or link is in both windows." : `${count(kept, "operation or link is", "operations and links are")} in both windows.`;
}

/** Return which parts of a diff are not complete, as a sentence; undefined if all are. */
export function omittedText({ omitted }: FieldDiff): string | undefined {
  return omitted && `What was ${omitted.join(" or ")} is not complete: a limit cut one of the windows.`;
}
