import { expect, test } from "vitest";
import { readBatch } from "./batch";

test("answers keep their places and say what their headers say", () => {
  const headers = { "Retained-From": "1700000000", Link: '</v3/tags/x?cursor=c>; rel="next"' };
  const cut = { edges: [], truncated: true, truncatedBy: ["pairs_max=3"] };
  const answers = [
    { status: 200, headers, body: { fields: [1] } },
    { status: 404, headers: {}, body: { title: "Not found" } },
    { status: 200, headers: {}, body: cut },
  ];
  const [first, missing, last] = readBatch({ answers, truncated: false });
  expect(first).toMatchObject({ body: { fields: [1] }, retainedFrom: 1_700_000_000, next: "?cursor=c" });
  expect(missing).toEqual({ body: undefined });
  expect(last).toMatchObject({ body: cut, truncatedBy: "pairs_max=3" });
});

test("a query that was refused makes the batch incomplete", () => {
  const answers = [
    { status: 503, headers: {}, body: { title: "The store does not answer" } },
    { status: 500, headers: {}, body: undefined },
  ];
  const read = readBatch({ answers, truncated: false });
  expect(read.map(({ truncatedBy }) => truncatedBy)).toEqual(["The store does not answer", "status 500"]);
});
