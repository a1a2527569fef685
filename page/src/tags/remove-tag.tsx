/** A button that removes a tag, after it was confirmed. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiPath } from "../api/paths";
import { Button } from "../parts/button";
import { describe } from "../parts/problem-box";
import { useChange } from "./use-change";

interface RemoveTagProps {
  tag: string;
  /** The path of the tag in the API. */
  path: ApiPath;
  changed: () => void;
}

export function RemoveTag({ tag, path, changed }: RemoveTagProps) {
  const [isAsking, setAsking] = useState<boolean>();
  const { isBusy, problem, send } = useChange();
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // To "No" when it asks, and back to the cross; not when the row is new.
    if (isAsking !== undefined) box.current?.querySelector("button")?.focus();
  }, [isAsking]);
  const remove = async () => {
    if (await send("DELETE", path)) changed();
  };
  const shown = problem && describe(problem);
  return (
    <div ref={box} class="confirm" role="group" aria-label={`Remove ${tag}`} onKeyDown={({ key }) => key === "Escape" && setAsking(false)}>
      {isAsking ? (
        <>
          <Button onClick={() => setAsking(false)}>No</Button>
          <Button onClick={() => void remove()} disabled={isBusy}>
            Remove
          </Button>
          <span class="quiet">Policies and reports about this tag will leave out the field.</span>
        </>
      ) : (
        <Button label={`Remove ${tag}`} icon="close" kind="quiet" onClick={() => setAsking(true)} />
      )}
      {shown && (
        <span class="field-problem" role="alert">
          {shown.title}: {shown.detail}
        </span>
      )}
    </div>
  );
}
