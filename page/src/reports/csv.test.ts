import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiProblem } from "../api/client";
import type { ApiPath } from "../api/paths";
import { PAGES_MAX, readCsv, withoutHead } from "./csv";

test.each([["a,b\r\n1,2\r\n", "1,2\r\n"], ["a,b\n", ""], ["", ""]])("%j without its head is %j", (text, rest) => {
  expect(withoutHead(text)).toBe(rest);
});

let server: Server;
let pages = 0;

beforeEach(async () => {
  server = createServer((request, response) => {
    const page = Number(new URL(request.url ?? "", "http://here").searchParams.get("cursor") ?? 0);
    const isLast = page + 1 >= pages;
    if (pages === 0) {
      response.writeHead(404, { "Content-Type": "application/problem+json" });
      response.end('{"title": "Never seen", "detail": "policy \'x\' not found"}');
      return;
    }
    const link: Record<string, string> = isLast ? {} : { Link: `</v3/reports/x?cursor=${page + 1}>; rel="next"` };
    response.writeHead(200, { "Content-Type": "text/csv", ...link });
    response.end(`head\n${request.headers.accept},${page}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => void server.close());

function read() {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3/reports/x`;
  return readCsv(url as ApiPath, {});
}

test("all pages of a list are one file with one head", async () => {
  pages = 3;
  expect(await read()).toEqual({ text: "head\ntext/csv,0\ntext/csv,1\ntext/csv,2\n", isCut: false });
});

test("a list of more pages than a file may have is cut, and says so", async () => {
  pages = PAGES_MAX + 1;
  const { text, isCut } = await read();
  expect([text.split("\n").length, isCut]).toEqual([PAGES_MAX + 2, true]);
});

test("a refused report is a problem, and no file", async () => {
  pages = 0;
  await expect(read()).rejects.toBeInstanceOf(ApiProblem);
});
