/** Forms of a few texts in a line. */
import { useId, useState } from "preact/hooks";
import { ApiProblem, type Offline } from "../api/client";
import { Button } from "./button";

export interface FormField<Key extends string> {
  key: Key;
  label: string;
  isOptional?: boolean;
}

interface TextFormProps<Key extends string> {
  /** Its accessible name. */
  label: string;
  fields: readonly FormField<Key>[];
  initial: Partial<Record<Key, string>>;
  /** The text of its button. */
  action: string;
  isBusy?: boolean;
  /** What the API refused: what it says of a field stands below it. */
  problem?: ApiProblem | Offline;
  submit: (values: Record<Key, string>) => void;
}

export function TextForm<Key extends string>({ label, fields, initial, action, isBusy, problem, submit }: TextFormProps<Key>) {
  const [typed, setTyped] = useState(initial);
  const errors = problem instanceof ApiProblem ? problem.errors : [];
  const values = () => Object.fromEntries(fields.map(({ key }) => [key, typed[key] ?? ""])) as Record<Key, string>;
  return (
    <form class="text-form" aria-label={label} onSubmit={(event) => { event.preventDefault(); submit(values()); }}>
      {fields.map((field) => (
        <TextInput
          key={field.key}
          field={field}
          value={typed[field.key] ?? ""}
          set={(text) => setTyped({ ...typed, [field.key]: text })}
          error={errors.find(({ at }) => at === field.key)?.detail}
        />
      ))}
      <Button type="submit" kind="primary" disabled={isBusy}>
        {action}
      </Button>
    </form>
  );
}

interface TextInputProps {
  field: FormField<string>;
  value: string;
  set: (text: string) => void;
  error?: string;
}

function TextInput({ field: { label, isOptional = false }, value, set, error }: TextInputProps) {
  const id = useId();
  return (
    <label>
      <span>
        {label}
        {isOptional && " (optional)"}
      </span>
      <input
        type="text"
        required={!isOptional}
        spellcheck={false}
        value={value}
        onInput={(event) => set(event.currentTarget.value)}
        aria-invalid={error !== undefined}
        aria-describedby={error && id}
      />
      {error && <span id={id} class="field-problem">{error}</span>}
    </label>
  );
}
