/** All operations of a field, in order, with the programs that ran them. */
import { useMemo } from "preact/hooks";
import type { FieldOperations } from "../api/answers";
import { count } from "../browser/numbers";
import { Section } from "../parts/section";
import { FieldAnswer } from "./field-answer";
import { OperationList } from "./operation-list";
import { ProgramsPanel } from "./programs-panel";
import type { FieldQuery, FieldViewProps } from "./query";
import { destinations, rowsOfField } from "./rows";

export function DetailedView(props: FieldViewProps) {
  return <FieldAnswer {...props} view="detailed">{(body) => <Operations {...props} body={body} />}</FieldAnswer>;
}

function Operations({ query, state, body }: FieldViewProps & { body: FieldOperations }) {
  const rows = useMemo(() => rowsOfField(body), [body]);
  const { ns, name, field, direction } = query;
  return (
    <div class="with-aside">
      <Section title={count(rows.length, "operation")} note={summary(body, direction)}>
        <OperationList rows={rows} asked={{ namespace: ns, name, field }} />
      </Section>
      <ProgramsPanel query={query} state={state} contents={body.checksums} />
    </div>
  );
}

/** Say from how many fields a field was made, or into how many it was. */
function summary({ nodes }: FieldOperations, direction: FieldQuery["direction"]): string {
  const ends = nodes
    .map((node) => (direction === "forward" ? destinations(node) : node.sourceEndPoint ? [node.sourceEndPoint] : []))
    .filter((datasets) => datasets.length > 0);
  const datasets = new Set(ends.flat().map(({ namespace, name }) => JSON.stringify([namespace, name])));
  const word = direction === "backward" ? "from" : "into";
  return `in the order that they run, ${word} ${count(ends.length, "field")} of ${count(datasets.size, "dataset")}`;
}
