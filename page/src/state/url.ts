/** The address of the page: its whole state in the query string. */

import { formatQuery, parseQuery } from "../browser/query-string";
import {
  CHANGES,
  DIRECTIONS,
  OPERATION_VIEWS,
  REPORTS,
  VIEWS,
  type FieldRef,
  type PageState,
  type View,
  type WindowText,
} from "./page-state";

export const DEFAULT_WINDOW: WindowText = { start: "now-30d", end: "now" };

const TEXTS = ["ns", "name", "field", "q", "run", "tab", "tag", "policy", "to"] as const;

/** Parse a query string, with or without `?`. Values that no view knows become the default. */
export function parseState(search: string): PageState {
  const query = parseQuery(search);
  const first = (key: string) => query.get(key)?.[0];
  const named = first("name") === undefined ? "home" : "dataset";
  const view = choice(VIEWS, first("view")) ?? named;
  const state: PageState = {
    view,
    start: first("start") ?? DEFAULT_WINDOW.start,
    end: first("end") ?? DEFAULT_WINDOW.end,
    indirect: flag(first("indirect"), true),
    failed: flag(first("failed"), false),
    causal: flag(first("causal"), causalDefault(view)),
  };
  const optional: Partial<PageState> = {
    ...Object.fromEntries(TEXTS.map((key) => [key, first(key)])),
    direction: choice(DIRECTIONS, first("direction")),
    level: parseLevel(first("level")),
    on: parseRef(first),
    as: choice(["table"] as const, first("as")),
    base: parseBase(first("base")),
    open: query.get("open")?.slice(),
    report: choice(REPORTS, first("report")),
    operations: choice(OPERATION_VIEWS, first("operations")),
    change: choice(CHANGES, first("change")),
  };
  return { ...state, ...withoutUndefined(optional) };
}

/** Write a state as a query string with `?`, empty for the home page with all defaults. */
export function formatState(state: PageState): string {
  const query: [string, string | undefined][] = [
    ["view", state.view === "home" && state.name === undefined ? undefined : state.view],
    ...(["ns", "name", "field", "direction"] as const).map((key): [string, string | undefined] => [key, state[key]]),
    ["level", state.level?.toString()],
    ["start", state.start === DEFAULT_WINDOW.start ? undefined : state.start],
    ["end", state.end === DEFAULT_WINDOW.end ? undefined : state.end],
    ["indirect", state.indirect ? undefined : "false"],
    ["failed", state.failed ? "true" : undefined],
    ["causal", state.causal === causalDefault(state.view) ? undefined : String(state.causal)],
    ["on", state.on?.ns],
    ["on.name", state.on?.name],
    ["on.field", state.on?.field],
    ["as", state.as],
    ["base", state.base && `${state.base.start},${state.base.end}`],
    ...(state.open ?? []).map((text): [string, string] => ["open", text]),
    ...(["q", "run", "report", "tab", "tag", "policy", "operations", "change", "to"] as const).map(
      (key): [string, string | undefined] => [key, state[key]],
    ),
  ];
  return formatQuery(query);
}

/** Return the relative address of a state: it works behind any path prefix. */
export function href(state: PageState): string {
  return formatState(state) || "?";
}

/**
 * Return the state after a change. A change that names a view goes elsewhere: the window and the filters stay, everything
 * else comes from the change. Another change is of the same view; undefined removes a member.
 */
export function nextState(state: PageState, change: Partial<PageState>): PageState {
  const { view, start, end, indirect, failed } = state;
  const kept = change.view === undefined ? state : { start, end, indirect, failed, causal: causalDefault(change.view) };
  return withoutUndefined({ ...kept, ...change, view: change.view ?? view } as PageState);
}

function causalDefault(view: View): boolean {
  return view === "report";
}

function flag(text: string | undefined, byDefault: boolean): boolean {
  return text === "true" || (text !== "false" && byDefault);
}

function choice<T extends string>(values: readonly T[], text: string | undefined): T | undefined {
  return values.find((value) => value === text);
}

function parseLevel(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

function parseRef(first: (key: string) => string | undefined): FieldRef | undefined {
  const [ns, name, field] = [first("on"), first("on.name"), first("on.field")];
  return ns === undefined || name === undefined ? undefined : withoutUndefined({ ns, name, field });
}

function parseBase(text: string | undefined): WindowText | undefined {
  const [start, end] = text?.split(",") ?? [];
  return start && end ? { start, end } : undefined;
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
