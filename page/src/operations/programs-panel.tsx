/** The programs whose runs performed the operations of a field, with their last runs. */
import type { Program } from "../api/answers";
import { paths } from "../api/paths";
import { count, formatCount } from "../browser/numbers";
import { Answered } from "../parts/answered";
import { RunLink } from "../parts/dataset-link";
import { Name, Names } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Time } from "../parts/time";
import { useAnswer } from "../queries/use-answer";
import type { PageState } from "../state/page-state";
import type { FieldQuery } from "./query";

const PROGRAMS_FIRST = 10;

interface ProgramsPanelProps {
  query: FieldQuery;
  state: PageState;
  contents: readonly string[];
}

export function ProgramsPanel({ query, state, contents }: ProgramsPanelProps) {
  const { ns, name, field, direction } = query;
  const { start, end, failed } = state;
  const params = { field, direction, start, end, failed };
  const answer = useAnswer({ path: paths.programs(ns, name), params });
  return (
    <aside class="programs-panel" aria-labelledby="programs-title">
      <h2 id="programs-title">{direction === "backward" ? "Programs that wrote it" : "Programs that read it"}</h2>
      <Answered of={answer} lines={4}>
        {({ body: { programs, programsWithUnknownColumns: maybe = [] } }) => (
          <>
            <Limited items={programs} first={PROGRAMS_FIRST} what="programs">
              {(shown) => (
                <ul class="programs">
                  {shown.map((program, index) => (
                    <ProgramItem key={index} program={program} />
                  ))}
                </ul>
              )}
            </Limited>
            {maybe.length > 0 && <p class="quiet">{count(maybe.length, "program")} used the dataset without reporting whether they used the field.</p>}
          </>
        )}
      </Answered>
      {contents.length > 0 && <p class="quiet">{count(contents.length, "distinct content")} in this window.</p>}
    </aside>
  );
}

function ProgramItem({ program: { namespace, application, program, type, runs, failed, lastRun, lastStart } }: { program: Program }) {
  return (
    <li>
      <strong>
        <Name text={program} />
      </strong>
      <span class="quiet">
        <Names of={[application, type, namespace]} between=" · " />
      </span>
      <span>
        {count(runs, "run")}
        {failed > 0 && <span class="failed-count">, {formatCount(failed)} failed</span>}
      </span>
      <span>
        last{" "}
        <RunLink run={lastRun} ns={namespace}>
          <Time ms={lastStart} />
        </RunLink>
      </span>
    </li>
  );
}
