import { expect, test } from "vitest";
import { pathSteps } from "./path";

const at = (name: string, field: string) => ({ namespace: "bank", name, field });

test("a path names a dataset where it changes", () => {
  const path = [at("Records", "*"), at("Records", "score"), at("Labs", "crp")];
  expect(pathSteps(path).map((step) => step.dataset?.name)).toEqual(["Records", undefined, "Labs"]);
});
