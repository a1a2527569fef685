/** The operations of a field: how it was made, and what was made of it. */
import { DetailedView } from "../operations/detailed-view";
import { DiffView } from "../operations/diff-view";
import type { FieldQuery } from "../operations/query";
import { SimpleView } from "../operations/simple-view";
import { WaysView } from "../operations/ways-view";
import { Empty } from "../parts/empty";
import { Link } from "../parts/link";
import { Choice, type Option } from "../parts/tabs";
import type { OperationView, PageState } from "../state/page-state";

type Side = FieldQuery["direction"];

const SIDES: readonly Option<Side>[] = [
  { key: "backward", label: "How it was made" },
  { key: "forward", label: "What was made of it" },
];
const VIEWS: readonly Option<OperationView>[] = [
  { key: "detailed", label: "Detailed" },
  { key: "simple", label: "Simple" },
  { key: "ways", label: "Ways" },
  { key: "diff", label: "Diff" },
];
/** Views of how a field was made alone. */
const BACKWARD_ONLY: ReadonlySet<OperationView> = new Set(["ways", "diff"]);
const COMPONENTS = { detailed: DetailedView, simple: SimpleView, ways: WaysView, diff: DiffView };

export function OperationsScreen({ state }: { state: PageState }) {
  const { ns, name, field } = state;
  if (ns === undefined || name === undefined || field === undefined) return <NoField state={state} />;
  const view = state.operations ?? "detailed";
  const direction: Side = state.direction === "forward" && !BACKWARD_ONLY.has(view) ? "forward" : "backward";
  const View = COMPONENTS[view];
  return (
    <div class="operations-screen">
      <div class="screen-bar">
        <Choice label="Direction" options={SIDES} current={direction} to={(side) => toSide(side, view)} />
        <Choice
          label="View of the operations"
          options={direction === "backward" ? VIEWS : VIEWS.filter(({ key }) => !BACKWARD_ONLY.has(key))}
          current={view}
          to={(key) => ({ operations: key === "detailed" ? undefined : key })}
        />
      </div>
      <View query={{ ns, name, field, direction }} state={state} />
    </div>
  );
}

function toSide(side: Side, view: OperationView): Partial<PageState> {
  if (side === "backward") return { direction: undefined };
  return { direction: "forward", operations: view === "simple" ? view : undefined };
}

function NoField({ state: { ns, name } }: { state: PageState }) {
  return (
    <Empty title="No field is chosen">
      <p>
        Operations are those of one field: search for it
        {ns !== undefined && name !== undefined && (
          <>
            , or pick one of <Link to={{ view: "dataset", ns, name }}>the fields of this dataset</Link>
          </>
        )}
        .
      </p>
    </Empty>
  );
}
