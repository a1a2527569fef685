/** The fields that a trace reaches, and for each a way that explains it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isHiddenNamespace } from "../api/hidden-names";
import { Button } from "../parts/button";
import { FieldLabel, Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { isUnordered, refOf, type Field, type Link as GraphLink } from "./model";
import { LastRun, NotInOrder, Sign } from "./pair-table";
import { pathTo, reached, type Light, type Reached, type Trace } from "./trace";

const ITEMS = 100;

const TITLES = { into: "What it is made of", out: "What was made of it" };
const GROUPS = {
  into: { values: "by value", value: "by value" },
  out: { values: "hold its value", value: "holds its value" },
};

const LATE = {
  into: "not in order: written only after the run that read",
  out: "not in order: read only before the run that wrote",
};

/** One side of a trace as lists: what holds the value, what was only shaped, and what is not in order. */
export function Side({ trace }: { trace: Trace }) {
  const items = reached(trace);
  const lit = (light: Light) => items.filter((item) => item.light === light);
  const values = lit("value");
  const words = GROUPS[trace.side];
  return (
    <section>
      <h3>{TITLES[trace.side]}</h3>
      {items.length === 0 && <p class="of">Nothing in this graph.</p>}
      <Group words={values.length === 1 ? words.value : words.values} items={values} trace={trace} />
      <Group words="only shaped" items={lit("shape")} trace={trace} />
      <Group words={LATE[trace.side]} items={lit("late")} trace={trace} />
    </section>
  );
}

function Group({ words, items, trace }: { words: string; items: readonly Reached[]; trace: Trace }) {
  const [count, setCount] = useState(ITEMS);
  if (items.length === 0) return null;
  return (
    <>
      <h4 class="of">{items.length.toLocaleString("en")} {words}</h4>
      <ol class="reached">
        {items.slice(0, count).map((item) => <Item key={indexKey(item)} item={item} trace={trace} />)}
      </ol>
      {items.length > count && <Button onClick={() => setCount(count + ITEMS)}>{items.length - count} more</Button>}
    </>
  );
}

const indexKey = ({ field: { box, name } }: Reached) => `${box.key} ${name}`;

function Item({ item: { field, hops, light }, trace }: { item: Reached; trace: Trace }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li class={light}>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="hops" title={`${hops} hop${hops === 1 ? "" : "s"}`}>{hops}</span>
        <span class="reached-name">
          <FieldLabel field={field.name} absent="dropped" />
          {isFailed(field, trace) && <span class="bad"> failed runs only</span>}
          {light !== "late" && isUnordered(field) && <span class="of"> not in order</span>}
        </span>
        <span class="of reached-place"><Name text={field.box.name} /></span>
      </button>
      {isOpen && <Path field={field} trace={trace} />}
    </li>
  );
}

/** Return whether only links of failed runs lead to a field within a trace. */
function isFailed(field: Field, { side, all }: Trace): boolean {
  const links = side === "out" ? field.into : field.out;
  const lit = links.filter((link) => all.has(side === "out" ? link.source : link.target));
  return lit.length > 0 && lit.every(({ failed }) => failed);
}

/** A shortest way from the selected field, with the runs of each link. */
function Path({ field, trace }: { field: Field; trace: Trace }) {
  const steps = pathTo(trace, field);
  const inOrder = trace.side === "out" ? steps : [...steps].reverse();
  const { namespace, name } = field.box;
  return (
    <div class="reached-path">
      <ol>
        {inOrder.map(({ link }, index) => link ? <Step key={index} link={link} /> : <li key={index} class="of">every row stands for each field of its dataset</li>)}
      </ol>
      <p class="panel-links">
        <Link inPlace to={{ on: refOf(field) }}>Select</Link>
        {!isHiddenNamespace(namespace) && <Link to={{ view: "graph", ns: namespace, name, field: field.name }}>Graph</Link>}
      </p>
    </div>
  );
}

function Step({ link }: { link: GraphLink }) {
  const { source, target, indirect, failed, runs, change } = link;
  const facts: ComponentChildren[] = [
    indirect ? "indirect" : "direct",
    runs !== undefined && ` · ${runs} run${runs === 1 ? "" : "s"}`,
    failed && <span class="bad"> · failed runs only</span>,
    isUnordered(link) && <NotInOrder />,
    link.lastStart !== undefined && <> · last <LastRun link={link} /></>,
    change && <> · <Sign change={change} /></>,
  ];
  return (
    <li>
      <FieldLabel field={source.name} absent="generated" /> → <FieldLabel field={target.name} absent="dropped" />{" "}
      <span class="of">of <Name text={target.box.name} /></span>
      <div class="of">{facts}</div>
    </li>
  );
}
