import { expect, test } from "vitest";
import type { Downstream } from "../api/answers";
import { ApiProblem, Offline } from "../api/client";
import { problemOfForm, summarize } from "./impact";

const NAMES = { namespace: "shop", name: "orders" };
const PROGRAM = { namespace: "shop", application: "etl", program: "copy", type: "spark", lastRun: "r1", lastStart: 1000 };
const DOWNSTREAM: Downstream = {
  fields: [
    { ...NAMES, field: "email", hops: 1, influence: "direct" },
    { ...NAMES, field: "total", hops: 2, influence: "indirect" },
    { ...NAMES, field: "*", hops: 2, influence: "indirect" },
  ],
  fieldCount: 3,
  datasets: [NAMES],
  programs: [PROGRAM],
};

test("the summary tells direct from indirect", () => {
  expect(summarize(DOWNSTREAM)).toBe("Downstream: 3 fields (1 direct, 2 indirect) of 1 dataset, and 1 program.");
});

test("a list that is not whole is not divided", () => {
  expect(summarize({ ...DOWNSTREAM, fieldCount: 1200 })).toBe("Downstream: 1,200 fields of 1 dataset, and 1 program.");
});

test("a program that read the field and made no field of it counts", () => {
  const none = { fields: [], fieldCount: 0, datasets: [] };
  expect(summarize({ ...none, programs: [PROGRAM] })).toBe("Downstream: 0 fields of 0 datasets, and 1 program.");
  expect(summarize({ ...none, programs: [] })).toMatch(/^Nothing downstream/);
});

test("errors of the request are those of the form", () => {
  const problem = new ApiProblem(400, "Bad Request", "", [{ at: "fields.0.to", detail: "is a field already" }]);
  expect((problemOfForm(problem) as ApiProblem).errors).toEqual([{ at: "to", detail: "is a field already" }]);
  const offline = new Offline();
  expect(problemOfForm(offline)).toBe(offline);
});
