import { expect, test } from "vitest";
import type { ReachedField } from "../api/answers";
import { alongTheData, countReached, orderSentence, splitByOrder } from "./reached";

const at = (name: string, field: string) => ({ namespace: "bank", name, field });

function reached(name: string, hops: number, influence: "direct" | "indirect"): ReachedField {
  return { ...at(name, "UID"), hops, influence, path: [] };
}

test("fields with a value of it are counted apart from those that it only shaped", () => {
  const fields = [reached("Scores", 2, "indirect"), reached("Accounts", 1, "direct"), reached("Statements", 1, "direct")];
  expect(countReached(fields)).toEqual({ value: 2, shaped: 1 });
});

test("fields that are not in order are counted and listed apart", () => {
  const late = { ...reached("Scores", 1, "direct"), inOrder: false as const };
  const fields = [late, reached("Accounts", 2, "direct"), reached("Statements", 2, "indirect")];
  expect(countReached(fields)).toEqual({ value: 1, shaped: 1 });
  expect(splitByOrder(fields)).toEqual({ ordered: fields.slice(1), unordered: [late] });
  expect(orderSentence(fields)).toBe(" 1 more field is not in the order of the runs.");
  expect(orderSentence([late, late])).toBe(" 2 more fields are not in the order of the runs.");
  expect(orderSentence(fields.slice(1))).toBe("");
});

test("a path of a provenance report ends at the field asked about", () => {
  const path = [at("Records", "score"), at("Labs", "crp")];
  expect(alongTheData(path, "provenance")).toEqual([at("Labs", "crp"), at("Records", "score")]);
  expect(alongTheData(path, "consumption")).toEqual(path);
});
