import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CHANGES, DIRECTIONS, OPERATION_VIEWS, type PageState, REPORTS, VIEWS } from "./page-state";
import { DEFAULT_WINDOW, formatState, href, nextState, parseState } from "./url";

const text = fc.string({ unit: "binary", minLength: 1 }).map((value) => value.toWellFormed());
const time = fc.constantFrom("now", "now-30d", "now-1h+30m", "1795403566.032", "2026-11-01T06:00:00+01:00", "soon");
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** States without members that are undefined. */
const states: fc.Arbitrary<PageState> = fc
  .record({
    view: fc.constantFrom(...VIEWS),
    start: time,
    end: time,
    indirect: fc.boolean(),
    failed: fc.boolean(),
    causal: fc.boolean(),
    ns: optional(text),
    name: optional(text),
    field: optional(text),
    direction: optional(fc.constantFrom(...DIRECTIONS)),
    level: optional(fc.integer({ min: 1, max: 999_999 })),
    on: optional(fc.oneof(fc.record({ ns: text, name: text }), fc.record({ ns: text, name: text, field: text }))),
    as: optional(fc.constant("table" as const)),
    base: optional(fc.record({ start: time, end: time })),
    open: optional(fc.array(text, { minLength: 1, maxLength: 4 })),
    q: optional(text),
    run: optional(text),
    report: optional(fc.constantFrom(...REPORTS)),
    tab: optional(text),
    tag: optional(text),
    policy: optional(text),
    operations: optional(fc.constantFrom(...OPERATION_VIEWS)),
    change: optional(fc.constantFrom(...CHANGES)),
    to: optional(text),
  })
  .map((state) => Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined)) as never);

describe("the address", () => {
  test("holds the whole state", () => {
    fc.assert(fc.property(states, (state) => void expect(parseState(formatState(state))).toEqual(state)));
  });

  test("is a relative query that any URL parser reads alike", () => {
    fc.assert(
      fc.property(states, (state) => {
        const url = new URL(href(state), "http://host/prefix/");
        expect(url.pathname).toBe("/prefix/");
        expect(url.hash).toBe("");
        expect(url.searchParams.get("ns") ?? undefined).toBe(state.ns);
        expect(url.searchParams.get("start") ?? DEFAULT_WINDOW.start).toBe(state.start);
      }),
    );
  });

  test("is empty for the home page", () => {
    expect(formatState(parseState(""))).toBe("");
    expect(href(parseState(""))).toBe("?");
  });

  test("is that of the contract", () => {
    const search =
      "?view=graph&ns=bank&name=s3%3A%2F%2Flanding%2Ft&field=UID&direction=forward&level=3&indirect=false&failed=true" +
      "&on=bank&on.name=A&on.field=b&as=table&base=now-60d%2Cnow-30d&open=x&open=y";
    const state = parseState(search);
    expect(state).toMatchObject({ view: "graph", name: "s3://landing/t", level: 3, indirect: false, failed: true });
    expect(state).toMatchObject({ on: { ns: "bank", name: "A", field: "b" }, base: { start: "now-60d", end: "now-30d" } });
    expect(state.open).toEqual(["x", "y"]);
    expect(formatState(state)).toBe(search);
  });

  test("takes a plus as a plus, and a lone % as itself", () => {
    expect(parseState("?start=now-1h+30m").start).toBe("now-1h+30m");
    expect(parseState("?ns=100%&name=a%2").ns).toBe("100%");
  });

  test.each(["level=0", "level=-1", "level=1e9", "level=x", "direction=up", "as=list", "base=now", "on=a"])(
    "%s, which no view knows, is the default",
    (part) => expect(parseState(`?view=graph&${part}`)).toEqual(parseState("?view=graph")),
  );

  test("opens a dataset where no view is named", () => {
    expect(parseState("?ns=a&name=b").view).toBe("dataset");
    expect(parseState("?ns=a").view).toBe("home");
  });

  test("any text is parsed", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (search) => void parseState(search)));
  });
});

describe("a change", () => {
  test("that names a view keeps the window and the filters alone", () => {
    fc.assert(
      fc.property(states, ({ start, end, indirect, failed, ...rest }) => {
        const state = { ...rest, start, end, indirect, failed };
        const next = nextState(state, { view: "run", run: "r" });
        expect(next).toEqual({ view: "run", run: "r", start, end, indirect, failed, causal: false });
      }),
    );
  });

  test("of the same view keeps the rest; undefined removes", () => {
    const state = parseState("?view=graph&ns=a&name=b&field=c&on=a&on.name=b");
    const next = nextState(state, { on: undefined, level: 2 });
    expect(formatState(next)).toBe("?view=graph&ns=a&name=b&field=c&level=2");
  });

  test("to a report asks causally by default", () => {
    expect(nextState(parseState(""), { view: "report" }).causal).toBe(true);
    expect(formatState(nextState(parseState(""), { view: "report" }))).toBe("?view=report");
  });
});
