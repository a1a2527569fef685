import fc from "fast-check";
import { expect, test } from "vitest";
import { shorten } from "./field-name";

test("a long name keeps both ends and whole characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 0, maxLength: 200 }), (name) => {
      const shown = shorten(name, 80);
      expect([...shown].length).toBeLessThanOrEqual(80);
      expect(shown.isWellFormed()).toBe(name.isWellFormed());
      if ([...name].length <= 80) expect(shown).toBe(name);
      else expect(name.startsWith([...shown].slice(0, 40).join("")) && name.endsWith([...shown].slice(-20).join(""))).toBe(true);
    }),
  );
});
