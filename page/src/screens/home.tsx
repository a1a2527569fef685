/** What is new and what is wrong; namespaces, and their datasets when they are opened. */

import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { Button, Icon } from "../parts/button";
import { deferred } from "../parts/deferred";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { MoreLine } from "../parts/more-line";
import { openSearch } from "../queries/search";
import { usePages } from "../queries/use-pages";
import { replace } from "../state/navigation";
import type { PageState } from "../state/page-state";

const HomeNews = deferred(() => import("./details").then((details) => details.HomeNews));

export function HomeScreen({ state }: { state: PageState }) {
  const list = usePages({ path: paths.namespaces(), params: { limit: 100 } });
  const namespaces = list.pages.flatMap(({ body }) => body.namespaces);
  // The address of the page without anything opens the first one, so that there is something to see.
  const open = state.open ?? namespaces.slice(0, 1);
  return (
    <Answered of={list.first} lines={8}>
      {() =>
        namespaces.length === 0 ? (
          <HomeNews state={state} isEmpty />
        ) : (
          <div class="home">
            <h1>What is new</h1>
            <HomeNews state={state} isEmpty={false} />
            <h2>
              Datasets <Button kind="quiet" icon="search" onClick={() => openSearch("")}>Search</Button>
            </h2>
            {namespaces.map((ns) => (
              <Namespace key={ns} ns={ns} open={open} />
            ))}
            <MoreLine list={list} what="namespaces" shown={namespaces.length} />
          </div>
        )
      }
    </Answered>
  );
}

function Namespace({ ns, open }: { ns: string; open: readonly string[] }) {
  const isOpen = open.includes(ns);
  const toggle = () => replace({ open: isOpen ? open.filter((other) => other !== ns) : [...open, ns] });
  return (
    <section class="namespace card">
      <h3>
        <button type="button" aria-expanded={isOpen} onClick={toggle}>
          <Icon name={isOpen ? "down" : "forth"} />
          <Name text={ns} />
        </button>
      </h3>
      {isOpen && <DatasetsOf ns={ns} />}
    </section>
  );
}

function DatasetsOf({ ns }: { ns: string }) {
  const list = usePages({ path: paths.datasets(ns), params: { limit: 100 } });
  const datasets = list.pages.flatMap(({ body }) => body.endpoints);
  return (
    <Answered of={list.first} lines={4}>
      {() => (
        <>
          <ul class="datasets">
            {datasets.map(({ name, description }) => (
              <li key={name}>
                <Link to={{ view: "dataset", ns, name }}>
                  <Name text={name} />
                </Link>
                <span class="of">{description}</span>
              </li>
            ))}
          </ul>
          {datasets.length === 0 && <p class="nothing">No datasets.</p>}
          <MoreLine list={list} what="datasets" shown={datasets.length} />
        </>
      )}
    </Answered>
  );
}
