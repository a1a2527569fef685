/** The fields of a dataset that were made in other ways than in a base window, each with what changed. */
import type { ChangedField, DatasetDiff } from "../api/answers";
import { Name } from "../parts/field-name";
import { Limited } from "../parts/limited";
import { Link } from "../parts/link";
import type { PageState } from "../state/page-state";
import { type Change, commonText, countText, omittedText, toChanges } from "./changes";
import { ChangeLines, OperationLine, WayLine } from "./diff-lines";

const FIELDS_FIRST = 50;
const LINES_FIRST = 12;

interface ChangedFieldsProps {
  of: DatasetDiff;
  state: PageState;
  /** Whether something may be missing: then no field is known to be the same. */
  isPartial: boolean;
}

export function ChangedFields({ of: { fields }, state, isPartial }: ChangedFieldsProps) {
  if (fields.length === 0) {
    const text = isPartial ? "No difference was found, but this answer is not complete." : "Nothing differs: all fields were made in the same ways in both windows, if at all.";
    return <p class="diff-summary">{text}</p>;
  }
  return (
    <>
      <h2>
        Fields that differ <span class="count">{fields.length}</span>
      </h2>
      <Limited items={fields} first={FIELDS_FIRST} what="fields">
        {(shown) => (
          <ul class="changed-fields">
            {shown.map((field) => (
              <FieldChanges key={field.field} of={field} state={state} />
            ))}
          </ul>
        )}
      </Limited>
    </>
  );
}

/** A field with its ways and operations; sources and links stand in its own diff. */
function FieldChanges({ of: changed, state: { ns, name, base } }: { of: ChangedField; state: PageState }) {
  const { ways, operations, sources, links } = toChanges(changed);
  const to: Partial<PageState> = { view: "operations", ns, name, field: changed.field, base };
  const lines: { change: Change; item: preact.ComponentChildren }[] = [
    ...ways.map(({ change, item }) => ({ change, item: <WayLine of={item} to={to} /> })),
    ...operations.map(({ change, item }) => ({ change, item: <OperationLine of={item} /> })),
  ];
  const counts = [countText(ways, "way", "ways"), countText(sources, "source", "sources"), countText(links, "link", "links")];
  return (
    <li class="card changed-field">
      <header>
        <h3>
          <Link to={{ ...to, operations: "diff" }}>
            <Name text={changed.field} />
          </Link>
        </h3>
        <p class="quiet">
          {counts.filter((text) => text).join("; ")}. {commonText(changed)} {omittedText(changed)}
        </p>
      </header>
      <Limited items={lines} first={LINES_FIRST} what="changes">
        {(shown) => <ChangeLines items={shown}>{(line) => line}</ChangeLines>}
      </Limited>
    </li>
  );
}
