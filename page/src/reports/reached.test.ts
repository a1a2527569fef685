import { expect, test } from "vitest";
import type { ReachedField } from "../api/answers";
import { alongTheData, splitByOrder } from "./reached";

const at = (name: string, field: string) => ({ namespace: "bank", name, field });

function reached(name: string, hops: number, influence: "direct" | "indirect"): ReachedField {
  return { ...at(name, "UID"), hops, influence, path: [] };
}

test("fields that are not in order are listed apart", () => {
  const late = { ...reached("Scores", 1, "direct"), inOrder: false as const };
  const fields = [late, reached("Accounts", 2, "direct"), reached("Statements", 2, "indirect")];
  expect(splitByOrder(fields)).toEqual({ ordered: fields.slice(1), unordered: [late] });
});

test("a path of a provenance report ends at the field asked about", () => {
  const path = [at("Records", "score"), at("Labs", "crp")];
  expect(alongTheData(path, "provenance")).toEqual([at("Labs", "crp"), at("Records", "score")]);
  expect(alongTheData(path, "consumption")).toEqual(path);
});
