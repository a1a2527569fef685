/** Graphs for tests: generated ones of a size, and arbitrary ones. */

import * as fc from "fast-check";
import type { Entry } from "../api/answers";
import { graphOfEntries } from "./build";
import { type Graph } from "./model";

const dataset = (index: number) => ({ namespace: "synthetic", name: `schema.dataset_${index}` });

/** Return entries of datasets with 20 fields each: every dataset is read by some of the next ones. */
export function syntheticEntries(datasets: number, pairs: number): Entry[] {
  const entries = new Map<string, Entry>();
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let index = 0; index < pairs; index++) {
    const from = random(datasets - 1);
    const to = Math.min(datasets - 1, from + 1 + random(Math.min(25, datasets - from)));
    const entry = entries.get(`${from} ${to}`) ?? entryOf(from, to);
    entry.fieldmap.push({ from: `column_${random(20)}`, to: `column_${random(20)}`, ...(random(5) ? {} : { influence: "indirect" }) });
    entries.set(`${from} ${to}`, entry);
  }
  return [...entries.values()];
}

function entryOf(from: number, to: number): Entry {
  return { source: dataset(from), destination: dataset(to), fieldmap: [], level: 1, direction: "forward" };
}

const names = fc.constantFrom("a", "b", "*", "A/b", "c|d", "%7C", "😀", "<b>x</b>", "e\u0000f", "=1+1", "x".repeat(100));

/** Arbitrary entries: cycles, self-loops, generated and dropped fields, unknown relations, names of any kind. */
const entries: fc.Arbitrary<Entry[]> = fc.array(
  fc.record({
    source: fc.option(fc.record({ namespace: fc.constantFrom("n", "m"), name: names })),
    destination: fc.option(fc.record({ namespace: fc.constantFrom("n", "m"), name: names })),
    fieldmap: fc.array(
      fc.record(
        {
          from: fc.option(names),
          to: fc.option(names),
          influence: fc.constantFrom("direct" as const, "indirect" as const),
          failed: fc.boolean(),
        },
        { requiredKeys: ["from", "to"] },
      ),
      { maxLength: 4 },
    ),
    level: fc.nat(3),
    direction: fc.constantFrom("forward" as const, "backward" as const),
    unknown: fc.boolean(),
  }),
  { maxLength: 14 },
);

export const graphs: fc.Arbitrary<Graph> = entries.map(graphOfEntries);
