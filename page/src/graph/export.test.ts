import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fileName } from "../browser/files";
import { graphOfReach } from "./build";
import { formatCell, toCsv } from "./csv";
import { PNG_PIXELS_MAX, PNG_SIDE_MAX, pngScale, toValidXml } from "./export";
import { graphs } from "./samples";

/** Parse RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows = [[""]];
  for (const part of text.match(/"(?:[^"]|"")*"|,|\r\n|[^",\r\n]+/g) ?? []) {
    const row = rows.at(-1)!;
    if (part === ",") row.push("");
    else if (part === "\r\n") rows.push([""]);
    else row[row.length - 1] = part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part;
  }
  return rows.slice(0, -1);
}

test("CSV has a line for each link, generated and dropped field and unknown relation, with the window", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const [, ...lines] = parseCsv(toCsv(graph, { window: { start: 0, end: 1.5 }, base: { start: 2, end: 3 }, truncatedBy: "pairs_max=1" }));
      const fields = graph.boxes.flatMap((box) => box.fields);
      const others = fields.filter((each) => each.generated).length + fields.filter((each) => each.dropped).length;
      expect(lines).toHaveLength(graph.links.length + graph.unknown.length + others);
      for (const line of lines)
        expect(line.slice(-5).map((cell) => cell.slice(-7))).toEqual([":00.000Z", ":01.500Z", ":02.000Z", ":03.000Z", "irs_max=1"].map((cell) => cell.slice(-7)));
      const plain = (text: string) => text.replace(/^'(?=[=+\-@])/, "");
      graph.links.forEach(({ source, target }, index) => {
        const [, name, field, , toName, toField] = lines[index]!.map(plain);
        expect([name, field, toName, toField]).toEqual([source.box.name, source.name, target.box.name, target.name]);
      });
    }),
  );
});

test("CSV says of each link whether it is in order, where that is known", () => {
  const ref = (name: string) => ({ namespace: "n", name, field: "x" });
  const edge = (from: string, to: string, more: { inOrder?: boolean }) => ({ from: ref(from), to: ref(to), influence: "direct" as const, ...more });
  const edges = [edge("a", "b", { inOrder: true }), edge("b", "c", { inOrder: false }), edge("c", "d", {})];
  const [head, ...lines] = parseCsv(toCsv(graphOfReach([{ nodes: [], edges, truncated: false }]), {}));
  expect(lines.map((line) => line[head!.indexOf("inOrder")])).toEqual(["true", "false", ""]);
});

test("no text of a cell is computed by a spreadsheet", () => {
  fc.assert(
    fc.property(fc.constantFrom("=", "+", "-", "@", "\t", "\r"), fc.string(), (first, rest) => {
      expect(formatCell(first + rest)).toMatch(/^"?'/);
    }),
  );
  expect([formatCell(-1), formatCell(undefined), formatCell("a"), formatCell('a"b')]).toEqual(["-1", "", "a", '"a""b"']);
});

describe("PNG", () => {
  test("stays below the limits of a canvas", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 1_000_000 }), (width, height) => {
        const scale = pngScale(width, height);
        expect(Math.floor(width * scale)).toBeLessThanOrEqual(PNG_SIDE_MAX);
        expect(Math.floor(height * scale)).toBeLessThanOrEqual(PNG_SIDE_MAX);
        expect(Math.floor(width * scale) * Math.floor(height * scale)).toBeLessThanOrEqual(PNG_PIXELS_MAX);
      }),
    );
    expect(pngScale(800, 600)).toBe(2);
  });
});

test("names with characters that XML cannot hold do not break the picture", () => {
  expect(toValidXml("a\u0000b\ud800c\n\u001f😀")).toBe("a\ufffdb\ufffdc\n\ufffd😀");
});

test("a file name has plain characters only", () => {
  expect(fileName(["bank", "s3://landing/t?<b>", undefined, "UID"], "svg")).toBe("bank-s3_landing_t_b_-UID.svg");
  expect(fileName(["", undefined], "csv")).toBe("lineage.csv");
});
