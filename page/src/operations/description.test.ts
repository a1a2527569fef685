import { expect, test } from "vitest";
import { isCode } from "./description";

test.each([
  "SUM(o.amount * r.rate)",
  "CASE WHEN SUM(o.amount) > ? THEN ? ELSE ? END",
  "INSERT\nON c.id = o.customer_id",
  "c.country",
])("%j is code", (text) => expect(isCode(text)).toBe(true));

test.each([
  "weighted sum of the indices",
  "joined on the patient, intensive care left out",
  "the latest results",
  "C-reactive protein (CRP), scaled",
  "",
])("%j is words", (text) => expect(isCode(text)).toBe(false));
