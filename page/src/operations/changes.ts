/** What differs between the ways of two windows, as lines: `+` gained, `−` lost. */
import type { Connection, DerivationParts, Diff, DistinctDerivation, FieldName, Operation } from "../api/answers";

export type Change = "gained" | "lost";

/** The changes of one kind, gained ones first. */
export interface Changes {
  ways: { change: Change; item: DistinctDerivation }[];
  operations: { change: Change; item: Operation }[];
  links: { change: Change; item: Connection }[];
  sources: { change: Change; item: FieldName }[];
}

/** Return the changes of an answer. */
export function toChanges({ gained, lost }: Diff): Changes {
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

/** Return the base window that the API takes without one: as long as a window, and just before it. */
export function defaultBase({ start, end }: { start: number; end: number }): { start: number; end: number } {
  return { start: Math.max(0, start - (end - start)), end: start };
}
