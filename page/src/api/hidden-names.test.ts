import { expect, test } from "vitest";
import { HIDDEN_MEMBERS, isHiddenNamespace, namespaceOfRun, nameHidden } from "./hidden-names";

const parse = (value: unknown): unknown => JSON.parse(JSON.stringify(value), nameHidden);

test("something hidden has its number for a name", () => {
  expect(parse({ hidden: 2 })).toMatchObject({ hidden: 2, namespace: "", name: "hidden 2", field: "", program: "hidden 2" });
  expect(parse([{ hidden: 1, name: "f", influence: "direct" }])).toMatchObject([{ name: "f", origin: "hidden 1" }]);
});

test("the members that are added are listed, so that they are no facts of a run", () => {
  const named = parse({ hidden: 1 }) as { namespace: string };
  expect(Object.keys(named).sort()).toEqual([...HIDDEN_MEMBERS].sort());
  expect([named.namespace, "ns1", undefined].map(isHiddenNamespace)).toEqual([true, false, false]);
});

test("a run with a number for an id is hidden, unless its namespace is shown", () => {
  const runs = [["hidden 3", undefined], ["hidden 3", ""], ["hidden 3", "open"], ["hidden", undefined], ["run-3", "open"], ["run-3", ""]] as const;
  expect(runs.map(([run, namespace]) => isHiddenNamespace(namespaceOfRun(run, namespace)))).toEqual([true, true, false, false, false, true]);
});

test("an edge to it is one of which no field is known", () => {
  const people = { namespace: "open", name: "people" };
  expect(parse({ source: { hidden: 1 }, destination: people, fieldmap: [] })).toMatchObject({ unknown: true });
  expect(parse({ source: null, destination: { hidden: 1 }, fieldmap: [] })).toMatchObject({ unknown: true });
});

test("anything else is as it is", () => {
  const entry = { source: { namespace: "a", name: "b" }, destination: null, fieldmap: [] };
  for (const value of [entry, null, 1, "hidden", [], {}]) expect(parse(value)).toEqual(value);
});
