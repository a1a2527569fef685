/** The datasets that a run read, and those that it wrote. */
import type { DatasetName, RunDetails } from "../api/answers";
import { DatasetLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Section } from "../parts/section";
import { byDirection } from "./facts";

const DATASETS_FIRST = 20;

export function RunDatasets({ run }: { run: RunDetails }) {
  const { read, written } = byDirection(run);
  return (
    <div class="run-datasets">
      {list("Read", read, run)}
      {list("Wrote", written, run)}
    </div>
  );
}

function list(title: string, datasets: readonly DatasetName[], { physicalNames = [] }: RunDetails) {
  const physical = ({ namespace, name }: DatasetName) =>
    physicalNames.find((other) => other.namespace === namespace && other.name === name)?.physicalName;
  return (
    <Section title={title} count={datasets.length}>
      <Limited items={datasets} first={DATASETS_FIRST} what="datasets">
        {(shown) => (
          <ul class="card">
            {shown.map((dataset, index) => (
              <li key={index}>
                <DatasetLink of={dataset} />
                {physical(dataset) && <span class="quiet"> stored as <Name text={physical(dataset) ?? ""} /></span>}
              </li>
            ))}
          </ul>
        )}
      </Limited>
    </Section>
  );
}
