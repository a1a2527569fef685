/** What is selected: what it is made of and what was made of it, by hops, by value or only shaped, and why. */

import { useState } from "preact/hooks";
import { isHiddenNamespace } from "../api/hidden-names";
import { Button } from "../parts/button";
import { FieldLabel, Name } from "../parts/field-name";
import { Link } from "../parts/link";
import type { Row } from "./keys";
import { labelOf, refOf, type Box } from "./model";
import { Side } from "./reached";
import type { Trace } from "./trace";

const ITEMS = 100;

interface PanelProps {
  selected: Row;
  traces: readonly Trace[];
  /** Says how far the lists go. */
  note: string;
}

export function Panel({ selected: { box, field }, traces, note }: PanelProps) {
  const place = { ns: box.namespace, name: box.name };
  const isHidden = isHiddenNamespace(box.namespace);
  return (
    <aside class="panel" aria-label="Selection">
      <header>
        <h2><Name text={field ? labelOf(field) : box.name} whole /></h2>
        <p class="of">
          {!isHidden && <><Name text={box.namespace} /> › </>}<Link to={{ view: "dataset", ...place }}><Name text={box.name} whole /></Link>
        </p>
        {!isHidden && (
          <p class="panel-links">
            <Link to={{ view: "graph", ...place, field: field?.name }}>Graph</Link>
            {field && <Link to={{ view: "operations", ...place, field: field.name }}>Operations</Link>}
            {field && <Link to={{ view: "report", ...place, field: field.name, report: "consumption" }}>Report</Link>}
          </p>
        )}
        {field?.generated && <p class="of">Generated: some run made it without a source field.</p>}
        {field?.dropped && <p class="of">Dropped: some run used it for no output.</p>}
      </header>
      {traces.map((each) => <Side key={each.side} trace={each} />)}
      {!field && <FieldsOf box={box} />}
      <p class="of panel-note">{note}</p>
    </aside>
  );
}

function FieldsOf({ box: { fields } }: { box: Box }) {
  const [count, setCount] = useState(ITEMS);
  return (
    <section>
      <h3>{fields.length.toLocaleString("en")} field{fields.length === 1 ? "" : "s"} in this graph</h3>
      <ul class="fields-of">
        {fields.slice(0, count).map((field) => (
          <li key={field.name}>
            <Link inPlace to={{ on: refOf(field) }}><FieldLabel field={field.name} absent="dropped" /></Link>{" "}
            <span class="of">from {field.into.length}, to {field.out.length}</span>
          </li>
        ))}
      </ul>
      {fields.length > count && <Button onClick={() => setCount(count + ITEMS)}>{fields.length - count} more</Button>}
    </section>
  );
}
