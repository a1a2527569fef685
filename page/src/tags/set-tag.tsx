/** The form that sets a tag: its name, by whom, and why. */
import { useState } from "preact/hooks";
import type { ApiPath } from "../api/paths";
import { ProblemBox } from "../parts/problem-box";
import { type FormField, TextForm } from "../parts/text-form";
import { useChange } from "./use-change";

const FIELDS: readonly FormField<"tag" | "by" | "description">[] = [
  { key: "tag", label: "Tag" },
  { key: "by", label: "By whom", isOptional: true },
  { key: "description", label: "Why", isOptional: true },
];

interface SetTagProps {
  /** Return the path of a tag in the API. */
  pathOf: (tag: string) => ApiPath;
  /** Called after a tag was set. */
  changed: () => void;
}

export function SetTag({ pathOf, changed }: SetTagProps) {
  const [done, setDone] = useState<{ tag: string; by: string; times: number }>();
  const { isBusy, problem, send } = useChange();
  const set = async ({ tag, by, description }: Record<"tag" | "by" | "description", string>) => {
    if (!(await send("PUT", pathOf(tag), withoutEmpty({ by, description })))) return;
    setDone((before) => ({ tag, by, times: (before?.times ?? 0) + 1 }));
    changed();
  };
  return (
    <div class="set-tag">
      <TextForm
        // An empty form after each tag; who set one often sets another.
        key={done?.times}
        label="Set a tag"
        fields={FIELDS}
        initial={{ by: done?.by }}
        action="Set"
        isBusy={isBusy}
        problem={problem}
        submit={(values) => void set(values)}
      />
      <p role="status" class="quiet">{done && !problem && `${done.tag} is set.`}</p>
      {problem && <ProblemBox problem={problem} />}
    </div>
  );
}

function withoutEmpty(note: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(note).filter(([, text]) => text.trim() !== ""));
}
