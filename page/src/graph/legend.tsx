/** What the kinds of lines of a graph mean. */

import { isUnordered, type Graph } from "./model";

export function Legend({ graph: { links, unknown } }: { graph: Graph }) {
  const kinds = [
    { kind: "direct", text: "value", isThere: links.some(({ indirect }) => !indirect) },
    { kind: "indirect", text: "only shapes", isThere: links.some(({ indirect }) => indirect) },
    { kind: "unknown", text: "fields unknown", isThere: unknown.length > 0 },
    { kind: "direct failed", text: "failed runs only", isThere: links.some(({ failed }) => failed) },
    { kind: "direct unordered", text: "not in order of the runs", isThere: links.some(isUnordered) },
    { kind: "direct gained", text: "+ gained", isThere: links.some(({ change }) => change === "gained") },
    { kind: "direct lost", text: "− lost", isThere: links.some(({ change }) => change === "lost") },
  ].filter(({ isThere }) => isThere);
  return (
    <ul class="legend" aria-label="Lines">
      {kinds.map(({ kind, text }) => (
        <li key={kind}>
          <svg width="28" height="8" aria-hidden="true"><path class={`wire ${kind}`} d="M0 4H28" /></svg>
          {text}
        </li>
      ))}
    </ul>
  );
}
