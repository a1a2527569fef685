/** Where the page is: the state of its address, and changes of it. */

import { createStore } from "../browser/store";
import type { PageState } from "./page-state";
import { href, nextState, parseState } from "./url";

const current = createStore(parseState(location.search));

/** Return the state of the address now. */
export const pageState = current.get;

/** Return the state of the address, and render again when it changes. */
export const usePageState = current.use;

/** Go to a changed state, with a step back: for where and when. */
export function push(change: Partial<PageState>): void {
  const state = nextState(current.get(), change);
  if (href(state) !== href(current.get())) history.pushState(null, "", href(state));
  current.set(state);
  if (change.view !== undefined) scrollTo(0, 0);
}

/** Change the state in place, without a step back: for what is selected or open. */
export function replace(change: Partial<PageState>): void {
  const state = nextState(current.get(), change);
  history.replaceState(null, "", href(state));
  current.set(state);
}

addEventListener("popstate", () => current.set(parseState(location.search)));
