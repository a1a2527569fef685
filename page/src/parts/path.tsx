/** A path from field to field, in the direction that the data flow. */
import type { DatasetName, FieldName } from "../api/answers";
import { FieldLabel, Name } from "./field-name";

export function Path({ steps }: { steps: readonly FieldName[] }) {
  return (
    <ol class="path">
      {pathSteps(steps).map(({ field, dataset }, index) => (
        <li key={index}>
          {dataset && (
            <span class="namespace">
              <Name text={dataset.name} /> ·{" "}
            </span>
          )}
          <FieldLabel field={field} absent="generated" />
        </li>
      ))}
    </ol>
  );
}

/** One step of a path: the dataset is undefined where it is that of the step before. */
interface PathStep {
  field: string;
  dataset?: DatasetName;
}

/** Return the steps of a path, naming each dataset where it changes. */
export function pathSteps(path: readonly FieldName[]): PathStep[] {
  return path.map(({ namespace, name, field }, index) => {
    const before = path[index - 1];
    const isSame = before?.namespace === namespace && before.name === name;
    return isSame ? { field } : { field, dataset: { namespace, name } };
  });
}
