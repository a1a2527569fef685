import { expect, test } from "vitest";
import type { Answer } from "../api/answers";
import { readBatch } from "./batch";

const answer = (status: number, body: unknown): Answer => ({ status, headers: {}, body });

test("answers keep their places, and all limits are named once", () => {
  const one = { edges: [1], truncatedBy: ["pairs_max=3", "level_max=2"] };
  const other = { edges: [2], truncatedBy: ["pairs_max=3"] };
  const answers = [answer(200, one), answer(404, { title: "Not found" }), answer(200, other)];
  expect(readBatch({ answers, truncated: true, truncatedBy: ["seconds=5"] })).toEqual({
    bodies: [one, undefined, other],
    truncatedBy: ["seconds=5", "pairs_max=3", "level_max=2"],
  });
});

test("a query that was refused makes the batch incomplete", () => {
  const answers = [answer(503, { title: "The store does not answer" }), answer(500, undefined)];
  expect(readBatch({ answers, truncated: false }).truncatedBy).toEqual(["The store does not answer", "status 500"]);
});
