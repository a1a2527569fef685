/** Start the page. */

import { render } from "preact";
import { App } from "./app";
import "./page.css";
import { applyTheme } from "./browser/theme";

// The styles of the screens.
import.meta.glob("./styles/*.css", { eager: true });

applyTheme(); // before the first paint
addEventListener("DOMContentLoaded", () => render(<App />, document.body));
