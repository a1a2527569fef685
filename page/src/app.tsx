/** The page: its header, its window, and the screen that the address names. */

import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { useAccess } from "./api/token";
import { deferred } from "./parts/deferred";
import { Filters } from "./parts/filters";
import { Header } from "./parts/header";
import { Link } from "./parts/link";
import { Place } from "./parts/place";
import { TokenForm } from "./parts/token-form";
import { WindowBar } from "./parts/window-bar";
import { DatasetScreen } from "./screens/dataset";
import { GraphScreen } from "./screens/graph";
import { HomeScreen } from "./screens/home";
import { usePageState } from "./state/navigation";
import type { PageState, View } from "./state/page-state";

const details = () => import("./screens/details");

const SCREENS: Record<View, ComponentType<{ state: PageState }>> = {
  home: HomeScreen,
  dataset: DatasetScreen,
  graph: GraphScreen,
  operations: deferred(() => details().then((screens) => screens.OperationsScreen)),
  compare: deferred(() => details().then((screens) => screens.CompareScreen)),
  report: deferred(() => details().then((screens) => screens.ReportScreen)),
  run: deferred(() => details().then((screens) => screens.RunScreen)),
  tags: deferred(() => details().then((screens) => screens.TagsScreen)),
  impact: deferred(() => details().then((screens) => screens.ImpactScreen)),
};

/** Return whether what is shown depends on the window. */
function hasWindow({ view, field, report }: PageState): boolean {
  if (view === "tags") return field !== undefined; // inherited tags
  return view === "report" ? report !== "retention" : view !== "run";
}

export function App() {
  const { token, isAsked, version } = useAccess();
  // With another token everything is asked again.
  return isAsked ? <TokenForm key={version} isRefused={token !== undefined} /> : <Page key={version} />;
}

function Page() {
  const state = usePageState();
  useEffect(() => {
    document.title = pageTitle(state);
  });
  const Screen = SCREENS[state.view];
  return (
    <>
      <Header state={state} />
      {hasWindow(state) && (
        <section class="toolbar" aria-label="Window and filters">
          <WindowBar state={state} />
          {state.view !== "home" && state.view !== "impact" && <Filters state={state} />}
        </section>
      )}
      <main id="main" tabIndex={-1} class={`screen-${state.view}`}>
        <Place state={state} />
        {lacksDataset(state) ? <NoDataset /> : <Screen key={screenKey(state)} state={state} />}
      </main>
    </>
  );
}

/** Views that are of a dataset. */
const OF_DATASET: ReadonlySet<View> = new Set(["dataset", "graph", "operations", "compare", "impact"]);

function lacksDataset({ view, ns, name }: PageState): boolean {
  return OF_DATASET.has(view) && (ns === undefined || name === undefined);
}

function NoDataset() {
  return (
    <section class="empty">
      <h1>The address names no dataset</h1>
      <p>
        It needs a namespace and a name. Search for them, or <Link to={{ view: "home" }}>go to the list</Link>.
      </p>
    </section>
  );
}

/** Return what a screen is about: another dataset or field is another screen, another window is not. */
function screenKey({ view, ns, name, run }: PageState): string {
  return JSON.stringify([view, ns, name, run]);
}

function pageTitle({ view, name, field, run }: PageState): string {
  const subject = [field, name].filter((text) => text !== undefined).join(" · ") || run;
  return [subject, view === "home" ? undefined : view, "Field lineage"].filter((text) => text).join(" · ");
}
