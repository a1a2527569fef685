import fc from "fast-check";
import { expect, test } from "vitest";
import { askForToken, currentToken, giveToken, isToken, tokenHeaders } from "./token";

test("a token is sent as it was given, without blanks around it", () => {
  expect(tokenHeaders(currentToken())).toEqual({});
  giveToken(" fll_1_2_3\n");
  expect(tokenHeaders(currentToken())).toEqual({ Authorization: "Bearer fll_1_2_3" });
  askForToken(undefined);
  expect(currentToken()).toBe("fll_1_2_3");
});

test("what passes is a header value", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      if (isToken(text)) new Headers(tokenHeaders(text.trim()));
    }),
  );
  expect(["fll_0a_b1_c2", "eyJh.eyJz.c2ln-_", "", " ", "a b", "é", "a\nb"].map(isToken)).toEqual([true, true, false, false, false, false, false]);
});
