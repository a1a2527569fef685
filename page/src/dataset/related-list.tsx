/** The datasets on one side of a dataset, with the pairs of fields. */

import { useState } from "preact/hooks";
import type { Pair } from "../api/answers";
import { isHiddenNamespace } from "../api/hidden-names";
import { formatCount } from "../browser/numbers";
import { FieldLabel, Name } from "../parts/field-name";
import { Link } from "../parts/link";
import type { PageState } from "../state/page-state";
import type { Related } from "./related";

const PAIRS_AT_FIRST = 12;
const PAIRS_STEP = 200;

interface RelatedListProps {
  title: string;
  direction: "backward" | "forward";
  related: readonly Related[];
  state: PageState;
}

export function RelatedList({ title, direction, related, state }: RelatedListProps) {
  const pairs = related.reduce((sum, { pairs: own }) => sum + own.length, 0);
  return (
    <section class="related" aria-label={title}>
      <h2>
        {title} <span class="count">{formatCount(pairs)}</span>
      </h2>
      {related.length === 0 && <p class="nothing">{emptyText(direction, state.field)}</p>}
      {related.map((one, index) => (
        <RelatedCard key={index} related={one} direction={direction} ns={state.ns} />
      ))}
    </section>
  );
}

function emptyText(direction: "backward" | "forward", field: string | undefined): string {
  const subject = field === undefined ? "this dataset" : "this field";
  return direction === "backward" ? `No run wrote ${subject} in this window.` : `Nothing was made of ${subject} in this window.`;
}

interface RelatedCardProps {
  related: Related;
  direction: "backward" | "forward";
  ns: string | undefined;
}

function RelatedCard({ related: { dataset, pairs, isUnknown }, direction, ns }: RelatedCardProps) {
  const [shown, setShown] = useState(PAIRS_AT_FIRST);
  const absent = direction === "backward" ? "generated" : "dropped";
  return (
    <article class="card">
      <header>
        {dataset === null ? (
          <span class="word">{absent === "generated" ? "Generated: no field leads to it" : "Dropped: read and not used"}</span>
        ) : (
          <Link to={{ view: "dataset", ns: dataset.namespace, name: dataset.name }}>
            {dataset.namespace !== ns && !isHiddenNamespace(dataset.namespace) && <span class="of">{dataset.namespace} › </span>}
            <Name text={dataset.name} />
          </Link>
        )}
      </header>
      <ul class="pairs">
        {pairs.slice(0, shown).map((pair, index) => (
          <PairItem key={index} pair={pair} />
        ))}
        {isUnknown && <li class="word">unknown: runs relate the two, but not which fields</li>}
      </ul>
      {pairs.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + PAIRS_STEP)}>
          {Math.min(PAIRS_STEP, pairs.length - shown)} more of {formatCount(pairs.length)}
        </button>
      )}
    </article>
  );
}

function PairItem({ pair }: { pair: Pair }) {
  const isIndirect = pair.influence === "indirect";
  return (
    <li class={isIndirect ? "indirect" : undefined}>
      {pair.from !== null && <FieldLabel field={pair.from} absent="generated" />}
      {pair.from !== null && pair.to !== null && <span class="arrow" aria-label="to" role="img">{isIndirect ? "⇢" : "→"}</span>}
      {pair.to !== null && <FieldLabel field={pair.to} absent="dropped" />}
      {isIndirect && <span class="tag">indirect</span>}
      {pair.failed && <span class="tag bad">failed runs only</span>}
    </li>
  );
}
