/** The program, the times and the other facts of a run. */
import type { JobReference, RunDetails } from "../api/answers";
import { RunLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { type Fact, Facts } from "../parts/section";
import { Time } from "../parts/time";
import { formatLength } from "../state/window";
import { otherFacts, secondsUntilLastEvent } from "./facts";

export function RunFacts({ run }: { run: RunDetails }) {
  const { program, application, namespace, type, version, startTime, parent, parentJob, root, checksum } = run;
  const { nominalStartTime, nominalEndTime } = run;
  const length = secondsUntilLastEvent(run);
  const others = otherFacts(run).map(([name, text]): Fact => [name, <Name text={text} whole />]);
  return (
    <Facts
      of={[
        ["Program", <Name text={program} />],
        ["Application", application && <Name text={application} />],
        ["Namespace", namespace && <Name text={namespace} />],
        ["Type", type],
        ["Version", version],
        ["Started", <Time ms={startTime} />],
        ["Until its last event", length && formatLength(length)],
        ["Planned for", nominalEndTime === undefined ? nominalStartTime : `${nominalStartTime} to ${nominalEndTime}`],
        ["Parent run", parentJob ? jobLink(parentJob) : parent && <RunLink run={parent} />],
        ["Root run", root && jobLink(root)],
        ["Content", <code>{checksum}</code>],
        ...others,
      ]}
    />
  );
}

function jobLink({ namespace, name, run }: JobReference) {
  return (
    <>
      <RunLink run={run} ns={namespace} /> <span class="quiet">of {namespace}/{name}</span>
    </>
  );
}
