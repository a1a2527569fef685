/** Changes as lines with a sign, a word and a colour: of a field, and of each field of a dataset. */
import type { ComponentChildren } from "preact";
import type { Connection, DistinctDerivation, Operation } from "../api/answers";
import { count } from "../browser/numbers";
import { DatasetLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { Time } from "../parts/time";
import type { PageState } from "../state/page-state";
import type { Change } from "./changes";
import { Description } from "./description";
import { parseNodeId } from "./node-id";
import { stretchWindow } from "./ways";

const SIGNS: Record<Change, string> = { gained: "+", lost: "−" };

interface ChangeLinesProps<T> {
  items: readonly { change: Change; item: T }[];
  children: (item: T) => ComponentChildren;
}

export function ChangeLines<T>({ items, children }: ChangeLinesProps<T>) {
  return (
    <ul class="diff-lines">
      {items.map(({ change, item }, index) => (
        <li key={index} class={change}>
          <span class="sign" aria-hidden="true">{SIGNS[change]}</span>
          <span class="change-word">{change}</span>
          <div>{children(item)}</div>
        </li>
      ))}
    </ul>
  );
}

interface WayLineProps {
  of: DistinctDerivation;
  /** Where the ways of the field are, if not in the view that is shown. */
  to?: Partial<PageState>;
}

/** The runs of a way that one window has alone, with a link to their window. */
export function WayLine({ of: { digest, checksum, runs, firstStart, lastStart }, to }: WayLineProps) {
  return (
    <>
      {firstStart === undefined || lastStart === undefined ? (
        "Runs that were not read"
      ) : (
        <Link to={{ ...to, ...stretchWindow({ firstStart, lastStart }), operations: "ways", open: undefined }}>
          {count(runs, "run")}, <Time ms={firstStart} />
          {lastStart > firstStart && (
            <>
              {" "}
              – <Time ms={lastStart} />
            </>
          )}
        </Link>
      )}{" "}
      <span class="quiet">
        way <code title={digest}>{digest.slice(0, 8)}</code>, content <code title={checksum}>{checksum.slice(0, 8)}</code>
      </span>
    </>
  );
}

export function OperationLine({ of: { name, type, description, endPoint } }: { of: Operation }) {
  return (
    <>
      <Name text={name} /> <span class={`operation-type ${type.toLowerCase()}`}>{type.toLowerCase()}</span>{" "}
      {endPoint && <DatasetLink of={endPoint} />}
      <Description text={description} />
    </>
  );
}

export function LinkLine({ of: { from, to, operation, influence } }: { of: Connection }) {
  const start = parseNodeId(from);
  return (
    <>
      <Name text={start.field} />{" "}
      {start.origin !== "" && (
        <span class="quiet">
          of <Name text={start.origin} />
        </span>
      )}{" "}
      → <Name text={parseNodeId(to).field} />{" "}
      <span class="quiet">
        by <Name text={operation} />
        {influence === "indirect" && ", indirect"}
      </span>
    </>
  );
}
