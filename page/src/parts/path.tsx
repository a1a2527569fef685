/** A path from field to field, in the direction that the data flow. */
import type { FieldName } from "../answers";
import { pathSteps } from "../reports/reached";
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
