/** The same answer as a table: one row for each pair of fields. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button";
import { FieldLabel, Names } from "../parts/field-name";
import { RunLink } from "../parts/dataset-link";
import { Link as PageLink } from "../parts/link";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { isUnordered, type Box, type Graph, type Link } from "./model";

const ROWS = 250;

/** A line of the table: a link, a field without a source or destination, or two datasets of unknown relation. */
interface Line {
  readonly from?: { readonly box: Box; readonly name: string | null } | undefined;
  readonly to?: { readonly box: Box; readonly name: string | null } | undefined;
  readonly words: string;
  readonly link?: Link;
}

export function PairTable({ graph, caption }: { graph: Graph; caption: string }) {
  const [count, setCount] = useState(ROWS);
  const lines = linesOf(graph);
  const isCompared = graph.links.some((link) => link.change);
  const isCounted = graph.links.some((link) => link.runs !== undefined);
  const columns = COLUMNS.filter(({ head }) => (head === "Change" ? isCompared : isCounted || !/run/i.test(head)));
  return (
    <div class="pair-table">
      <Table
        caption={caption}
        columns={columns}
        rows={lines.slice(0, count)}
        rowClass={({ link }) => link?.change ?? (link?.failed ? "failed" : link && isUnordered(link) ? "unordered" : undefined)}
      />
      {lines.length > count && (
        <p class="more-rows">
          {count} of {lines.length} rows. <Button onClick={() => setCount(count + ROWS)}>Show {Math.min(ROWS, lines.length - count)} more</Button>
        </p>
      )}
    </div>
  );
}

const COLUMNS: readonly Column<Line>[] = [
  { head: "Change", cell: ({ link }) => link?.change && <Sign change={link.change} /> },
  { head: "From", names: true, cell: ({ from }) => <End at={from} absent="generated" /> },
  { head: "To", cell: ({ to }) => <End at={to} absent="dropped" /> },
  { head: "Influence", cell: ({ words, link }) => <>{words}{link?.failed && <span class="bad"> · failed runs only</span>}{link && isUnordered(link) && <NotInOrder />}</> },
  { head: "Runs", numeric: true, cell: ({ link }) => link?.runs },
  { head: "Last run", cell: ({ link }) => link && <LastRun link={link} /> },
];

/** Says after other facts that the order of the runs does not allow a link. */
export function NotInOrder() {
  return <span class="of" title="No value can have taken this way: the run that read started before the run that wrote"> · not in order</span>;
}

export function Sign({ change }: { change: "gained" | "lost" }) {
  return <span class={change === "gained" ? "good" : "bad"}>{change === "gained" ? "+ gained" : "− lost"}</span>;
}

/** When the last run of a link started, as a link to that run. */
export function LastRun({ link: { lastStart, lastRun, lastRunNamespace } }: { link: Link }) {
  if (lastStart === undefined) return null;
  if (lastRun === undefined) return <Time ms={lastStart} />;
  return (
    <RunLink run={lastRun} ns={lastRunNamespace} title={lastRun}>
      <Time ms={lastStart} />
    </RunLink>
  );
}

function End({ at, absent }: { at: Line["from"]; absent: "generated" | "dropped" }) {
  if (!at) return <FieldLabel field={null} absent={absent} />;
  const { box, name } = at;
  return (
    <>
      <span class="of">
        <Names of={[box.namespace, box.name]} between=" › " />
      </span>{" "}
      {name === null ? (
        <em class="word">unknown fields</em>
      ) : (
        <PageLink to={{ view: "graph", ns: box.namespace, name: box.name, field: name }}>
          <FieldLabel field={name} absent={absent} />
        </PageLink>
      )}
    </>
  );
}

/** Return the lines of a graph; those of links that are not in order stand below all others. */
function linesOf({ boxes, links, unknown }: Graph): Line[] {
  const fields = boxes.flatMap((box) => box.fields);
  const lineOf = (link: Link) => ({ from: link.source, to: link.target, words: link.indirect ? "indirect" : "direct", link });
  return [
    ...links.filter((link) => !isUnordered(link)).map(lineOf),
    ...fields.filter((field) => field.generated).map((to) => ({ to, words: "generated" })),
    ...fields.filter((field) => field.dropped).map((from) => ({ from, words: "dropped" })),
    ...unknown.map(({ source, target }) => ({ from: { box: source, name: null }, to: { box: target, name: null }, words: "unknown" })),
    ...links.filter(isUnordered).map(lineOf),
  ];
}
