import { expect, test } from "vitest";
import type { RunDetails } from "../api/answers";
import { byDirection, describeState, hasFailed, otherFacts, secondsUntilLastEvent } from "./facts";

const RUN: RunDetails = {
  run: "0b6f",
  namespace: "bank",
  application: "FraudWatch",
  version: "",
  type: "spark",
  program: "features",
  startTime: 1000,
  state: "FAIL",
  checksum: "62e8",
  endpoints: [
    { namespace: "bank", name: "Transactions", direction: "forward" },
    { namespace: "bank", name: "Features", direction: "backward" },
    { namespace: "bank", name: "State", direction: "both" },
  ],
  operations: [],
};

test("a dataset that a run read and wrote is in both lists", () => {
  const { read, written } = byDirection(RUN);
  expect(read.map((dataset) => dataset.name)).toEqual(["Transactions", "State"]);
  expect(written.map((dataset) => dataset.name)).toEqual(["Features", "State"]);
});

test.each([["FAIL", true], ["ABORT", true], ["COMPLETE", false], [undefined, false]] as const)(
  "a run in state %s has failed: %s",
  (state, failed) => expect(hasFailed({ state })).toBe(failed),
);

test("a run without a state has reported no end", () => {
  expect(describeState(undefined).word).toBe("No end reported");
  expect(describeState("ABORT").word).toBe("Aborted");
});

test("facts that a document chose are texts", () => {
  const run = { ...RUN, team: "<b>risk</b>", retries: { max: 3 } };
  expect(otherFacts(run)).toEqual([["team", "<b>risk</b>"], ["retries", '{"max":3}']]);
});

test("a run lasts until its last event, where that is after its start", () => {
  expect(secondsUntilLastEvent(RUN)).toBeUndefined();
  expect(secondsUntilLastEvent({ ...RUN, events: [{ eventTime: 1000, eventType: "START" }] })).toBeUndefined();
  const events = [{ eventTime: 61_000, eventType: "FAIL" }, { eventTime: 1000, eventType: "START" }];
  expect(secondsUntilLastEvent({ ...RUN, events })).toBe(60);
});
