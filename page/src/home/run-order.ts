/** The order of runs. */

/** Return runs with the newest first; runs that started at the same time stay in their order. */
export function newestFirst<Run extends { startTime: number }>(runs: readonly Run[]): Run[] {
  return [...runs].sort((one, other) => other.startTime - one.startTime);
}
