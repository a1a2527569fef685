/** One stretch of runs: the operations by which they made the field, and their ids. */
import { useMemo } from "preact/hooks";
import type { Stretch, Way } from "../api/answers";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { RunLink } from "../parts/dataset-link";
import { Limited } from "../parts/limited";
import { Link } from "../parts/link";
import { useAnswer } from "../queries/use-answer";
import { FieldAnswer } from "./field-answer";
import { OperationList } from "./operation-list";
import type { FieldViewProps } from "./query";
import { rowsOfField } from "./rows";
import { stretchWindow } from "./ways";

const RUNS_FIRST = 20;

export function WayDetails({ query, state, stretch }: FieldViewProps & { stretch: Stretch }) {
  const { ns, name, field } = query;
  const window = useMemo(() => stretchWindow(stretch), [stretch]);
  const ways = useAnswer({ path: paths.ways(ns, name, field), params: { ...window, failed: state.failed } });
  return (
    <div class="stretch-details">
      <p>
        <Link to={{ ...window, operations: undefined, open: undefined }}>Open in exactly this window</Link>
      </p>
      <FieldAnswer query={query} state={{ ...state, ...window }} view="detailed">
        {(body) => <OperationList rows={rowsOfField(body)} asked={{ namespace: ns, name, field }} />}
      </FieldAnswer>
      <h4>Runs, newest first</h4>
      <Answered of={ways} lines={2}>
        {({ body }) => <RunIds ways={body.paths} />}
      </Answered>
    </div>
  );
}

function RunIds({ ways }: { ways: Way[] }) {
  const runs = ways.flatMap((way) => way.runs);
  const total = ways.reduce((sum, way) => sum + way.runCount, 0);
  return (
    <>
      {total > runs.length && <p>{`The newest ${runs.length} of ${total}`}</p>}
      <Limited items={runs} first={RUNS_FIRST} what="runs">
        {(shown) => (
          <ol class="run-ids">
            {shown.map((run) => (
              <li key={run}>
                <RunLink run={run} />
              </li>
            ))}
          </ol>
        )}
      </Limited>
    </>
  );
}
