/** Where the reader is: namespace, dataset, field, and the views of them. */

import { paths } from "../api/paths";
import { useAnswer } from "../queries/use-answer";
import type { PageState, View } from "../state/page-state";
import { Name } from "./field-name";
import { Link } from "./link";
import { type Option, Tabs } from "./tabs";
import { Time } from "./time";

/** A view, with a tab of the dataset after `/`. */
type Part = View | "dataset/programs" | "dataset/runs";

const OF_DATASET: readonly Option<Part>[] = [
  { key: "dataset", label: "Fields" },
  { key: "dataset/programs", label: "Programs" },
  { key: "dataset/runs", label: "Runs" },
  { key: "graph", label: "Graph" },
  { key: "compare", label: "Compare" },
  { key: "tags", label: "Tags" },
];
const OF_FIELD: readonly Option<Part>[] = [
  { key: "graph", label: "Graph" },
  { key: "operations", label: "Operations" },
  { key: "compare", label: "Compare" },
  { key: "report", label: "Reports" },
  { key: "impact", label: "Impact" },
  { key: "tags", label: "Tags" },
];

/** Breadcrumb, heading and views; nothing where the state names no dataset. */
export function Place({ state }: { state: PageState }) {
  const { ns, name, view, tab } = state;
  if (ns === undefined || name === undefined) return null;
  // A field that is picked on the screen of its dataset only filters it.
  const field = view === "dataset" ? undefined : state.field;
  return (
    <header class="place">
      <nav class="breadcrumb" aria-label="Breadcrumb">
        <Link to={{ view: "home", open: [ns] }}>
          <Name text={ns} />
        </Link>
        {field !== undefined && (
          <Link to={{ view: "dataset", ns, name, field }}>
            <Name text={name} />
          </Link>
        )}
      </nav>
      <Heading text={field ?? name} />
      {view === "dataset" && <Details ns={ns} name={name} />}
      <Tabs
        label="Views"
        options={field === undefined ? OF_DATASET : OF_FIELD}
        current={view === "dataset" && tab !== undefined ? (`dataset/${tab}` as Part) : view}
        to={(part) => partState(part, { ns, name, field: state.field })}
      />
    </header>
  );
}

/** Characters of a heading; a longer one is set smaller, and scrolls. */
const HEADING_MAX = 120;

function Heading({ text }: { text: string }) {
  const isLong = text.length > HEADING_MAX;
  return (
    <h1 class={isLong ? "long" : undefined} tabIndex={isLong ? 0 : undefined}>
      <Name text={text} whole />
    </h1>
  );
}

function partState(part: Part, place: Partial<PageState>): Partial<PageState> {
  const [view, tab] = part.split("/");
  return { ...place, view: view as View, tab };
}

/** One line about a dataset; the line is there before its text, so that nothing moves. */
function Details({ ns, name }: { ns: string; name: string }) {
  const { answer, isStale } = useAnswer({ path: paths.dataset(ns, name) });
  // A stale answer is about another dataset.
  const { description, firstStart, lastStart } = (!isStale && answer?.body) || {};
  return (
    <p class="description">
      {description && <span>{description}</span>}
      {firstStart && lastStart ? (
        <span class="of">
          runs from <Time ms={firstStart} /> to <Time ms={lastStart} />
        </span>
      ) : null}
    </p>
  );
}
