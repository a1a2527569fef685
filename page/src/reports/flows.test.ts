import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FlowProgram, FlowStep } from "../api/answers";
import { graphOfFlows, isFlowPolicy, kindOfPath, outcomeOf, runsOfFlow } from "./flows";

const KINDS = ["copied", "computed", "masked", "influence", ""] as const;
const step = (field: string, kind?: FlowStep["kind"]): FlowStep => ({ namespace: "shop", name: "t", field, kind });
const program = (firstStart: number, lastStart: number, current: boolean): FlowProgram => ({
  ...{ namespace: "shop", application: "etl", program: "copy", type: "spark", runs: 2 },
  ...{ firstRun: "a", firstStart, lastRun: "b", lastStart, current },
});

test.each([
  [["copied", "copied"], "copied"],
  [["copied", "computed"], "computed"],
  [["masked", "copied"], "masked"],
  [["masked", "influence"], "influence"],
  [["copied", ""], "unknown"],
] as const)("a path of %j is %s", (kinds, kind) => {
  expect(kindOfPath([step("a"), ...kinds.map((each, index) => step(`b${index}`, each))])).toBe(kind);
});

test("a path is called a copy only if each hop is one", () => {
  const paths = fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(paths, (kinds) => {
      const kind = kindOfPath([step("a"), ...kinds.map((each, index) => step(`b${index}`, each))]);
      expect(kind === "copied").toBe(kinds.every((each) => each === "copied"));
    }),
  );
});

test("the runs of a flow span those of all its programs, and one that still makes it is enough", () => {
  const programs = [program(20, 30, false), program(10, 25, true)];
  expect(runsOfFlow({ programs })).toEqual({ runs: 4, first: 10, last: 30, isCurrent: true });
  expect(runsOfFlow({ programs: programs.slice(0, 1) })?.isCurrent).toBe(false);
  expect(runsOfFlow({ programs: [] })).toBeUndefined();
});

test("flows that share a hop share its link, and a hop of influence alone is indirect", () => {
  const shared = [step("a"), step("b", "copied")];
  const graph = graphOfFlows([{ path: shared }, { path: [...shared, step("c", "influence")] }]);
  expect(graph.links.map(({ source, target, indirect }) => [source.name, target.name, indirect])).toEqual([
    ["a", "b", false],
    ["b", "c", true],
  ]);
});

describe("a report without violations", () => {
  const violations: [] = [];
  test("is kept only if it is complete and all columns are known", () => {
    const relation = { source: { namespace: "a", name: "b" }, destination: { namespace: "a", name: "c" } };
    expect(outcomeOf({ violations, truncated: false, unknown: [] })).toBe("kept");
    expect(outcomeOf({ violations, truncated: true, unknown: [] })).toBe("unknown");
    expect(outcomeOf({ violations, truncated: false, unknown: [relation] })).toBe("unknown");
  });
});

test("a policy with an age is no flow policy", () => {
  expect(isFlowPolicy({ name: "gdpr", at: 0, tag: "PII", maxAge: "30d" })).toBe(false);
  expect(isFlowPolicy({ name: "no-pii", at: 0, tag: "PII", into: "marketing/*" })).toBe(true);
});
