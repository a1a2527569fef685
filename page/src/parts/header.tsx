/** The header of every screen. */

import { useState } from "preact/hooks";
import { useKeys } from "../browser/use-keys";
import type { PageState } from "../state/page-state";
import { Button, Icon } from "./button";
import { KeyList } from "./key-list";
import { Link } from "./link";
import { Search } from "./search";
import { ThemeButton } from "./theme-button";

export function Header({ state }: { state: PageState }) {
  const [showsKeys, setShowsKeys] = useState(false);
  useKeys({ "?": () => setShowsKeys(true) });
  const skip = (event: Event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  return (
    <header class="header">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Link to={{ view: "home" }} class="brand">
        <Icon name="graph" />
        <span>Field lineage</span>
      </Link>
      <Search />
      <nav class="header-links" aria-label="Page">
        <Link to={{ view: "report", report: "retention" }} current={state.report === "retention" ? "page" : undefined}>
          Retention
        </Link>
        <Link to={{ view: "tags" }} current={state.view === "tags" && state.name === undefined ? "page" : undefined}>
          Tags
        </Link>
        <a href="docs">API</a>
        <ThemeButton />
        <Button kind="quiet" icon="help" label="Keys" onClick={() => setShowsKeys(true)} />
      </nav>
      {showsKeys && <KeyList close={() => setShowsKeys(false)} />}
    </header>
  );
}
