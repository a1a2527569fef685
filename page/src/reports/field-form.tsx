/** The field that a report is about, by its names. */
import { type FormField, TextForm } from "../parts/text-form";
import { push } from "../state/navigation";
import type { PageState } from "../state/page-state";

const FIELDS: readonly FormField<"ns" | "name" | "field">[] = [
  { key: "ns", label: "Namespace" },
  { key: "name", label: "Dataset" },
  { key: "field", label: "Field" },
];

export function FieldForm({ state }: { state: PageState }) {
  return (
    <>
      <TextForm label="Field of the report" fields={FIELDS} initial={state} action="Report" submit={push} />
      <p class="quiet">Or search for the field and open its reports.</p>
    </>
  );
}
