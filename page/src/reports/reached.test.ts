import { expect, test } from "vitest";
import type { ReachedField } from "../detail-answers";
import { alongTheData, countReached, pathSteps } from "./reached";

const at = (name: string, field: string) => ({ namespace: "bank", name, field });

function reached(name: string, hops: number, influence: "direct" | "indirect"): ReachedField {
  return { ...at(name, "UID"), hops, influence, path: [] };
}

test("fields with a value of it are counted apart from those that it only shaped", () => {
  const fields = [reached("Scores", 2, "indirect"), reached("Accounts", 1, "direct"), reached("Statements", 1, "direct")];
  expect(countReached(fields)).toEqual({ value: 2, shaped: 1 });
});

test("a path of a provenance report ends at the field asked about", () => {
  const path = [at("Records", "score"), at("Labs", "crp")];
  expect(alongTheData(path, "provenance")).toEqual([at("Labs", "crp"), at("Records", "score")]);
  expect(alongTheData(path, "consumption")).toEqual(path);
});

test("a path names a dataset where it changes", () => {
  const path = [at("Records", "*"), at("Records", "score"), at("Labs", "crp")];
  expect(pathSteps(path).map((step) => step.dataset?.name)).toEqual(["Records", undefined, "Labs"]);
});
