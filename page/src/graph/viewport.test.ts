import * as fc from "fast-check";
import { expect, test } from "vitest";
import { DATASET_CHARACTER, fitText } from "./text";
import { fit, holdPlace, keepVisible, reveal, zoomAt } from "./viewport";

const length = fc.integer({ min: 1, max: 20_000 });
const size = fc.record({ width: length, height: length });
const frame = fc.record({ width: fc.integer({ min: 200, max: 2000 }), height: fc.integer({ min: 200, max: 2000 }) });
const view = fc.record({
  x: fc.integer({ min: -5000, max: 5000 }),
  y: fc.integer({ min: -5000, max: 5000 }),
  scale: fc.double({ min: 0.1, max: 3, noNaN: true }),
});
const point = fc.record({ x: fc.nat(2000), y: fc.nat(2000) });

test("zooming leaves the point under the pointer where it is, and has limits", () => {
  fc.assert(
    fc.property(view, point, fc.double({ min: 0.01, max: 100, noNaN: true }), (before, at, factor) => {
      const after = zoomAt(before, at, factor);
      expect((at.x - after.x) / after.scale).toBeCloseTo((at.x - before.x) / before.scale, 3);
      expect(after.scale).toBeGreaterThanOrEqual(0.1);
      expect(after.scale).toBeLessThanOrEqual(3);
    }),
  );
});

test("fit shows all of a picture that is not too large", () => {
  fc.assert(
    fc.property(size, frame, (picture, room) => {
      const { x, y, scale } = fit(picture, room);
      if (scale <= 0.1) return;
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(-0.001);
      expect(x + picture.width * scale).toBeLessThanOrEqual(room.width + 0.001);
      expect(y + picture.height * scale).toBeLessThanOrEqual(room.height + 0.001);
    }),
  );
});

test("however far a picture is moved, some of it is seen", () => {
  fc.assert(
    fc.property(view, size, frame, (moved, picture, room) => {
      const { x, y, scale } = keepVisible(moved, picture, room);
      expect(x).toBeLessThan(room.width);
      expect(x + picture.width * scale).toBeGreaterThan(0);
      expect(y).toBeLessThan(room.height);
      expect(y + picture.height * scale).toBeGreaterThan(0);
    }),
  );
});

test("what is revealed lies in the frame, and what was in it does not move", () => {
  fc.assert(
    fc.property(view, point, frame, (before, at, room) => {
      const area = { ...at, width: 20, height: 20 };
      const after = reveal(before, area, room);
      expect(after.x + area.x * after.scale).toBeGreaterThanOrEqual(0);
      expect(after.y + (area.y + area.height) * after.scale).toBeLessThanOrEqual(room.height + 0.001);
      expect(reveal(after, area, room).x).toBeCloseTo(after.x, 3);
      expect(reveal(after, area, room).y).toBeCloseTo(after.y, 3);
    }),
  );
});

test("a box that moved within the picture stays on the screen", () => {
  fc.assert(
    fc.property(view, point, point, (before, old, next) => {
      const after = holdPlace(before, old, next);
      expect(after.x + next.x * after.scale).toBeCloseTo(before.x + old.x * before.scale, 3);
    }),
  );
});

test("a text that fits is whole; another one shows both ends", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
      const shown = fitText(text, 160, DATASET_CHARACTER);
      if (shown !== text) {
        const [start = "", end = ""] = [shown.slice(0, shown.lastIndexOf("…")), shown.slice(shown.lastIndexOf("…") + 1)];
        expect(text.startsWith(start) && text.endsWith(end)).toBe(true);
        expect(shown.length).toBeLessThan(text.length + 1);
      }
    }),
  );
  expect(fitText("s3://landing/transactions/2026", 160, DATASET_CHARACTER)).toBe("s3://landing…s/2026");
});
