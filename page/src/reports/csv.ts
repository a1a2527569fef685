/** Reports as CSV files. */
import { fetchText } from "../api/client";
import type { ApiPath, Params } from "../api/paths";

/** A file has at most this many pages of a list. */
export const PAGES_MAX = 20;
const CSV = "text/csv";

/** The text of a file, and whether more rows exist than it has. */
export interface CsvFile {
  text: string;
  isCut: boolean;
}

/** Read a list as CSV, with all its pages below one line of column names. Throws as `fetchAnswer` does. */
export async function readCsv(path: ApiPath, params: Params, signal?: AbortSignal): Promise<CsvFile> {
  const options = { accept: CSV, signal };
  let page = await fetchText(path, params, options);
  let isCut = page.truncatedBy !== undefined;
  const texts = [page.body ?? ""];
  while (page.next !== undefined && texts.length < PAGES_MAX) {
    page = await fetchText(page.next, {}, options);
    isCut ||= page.truncatedBy !== undefined;
    texts.push(withoutHead(page.body ?? ""));
  }
  return { text: texts.join(""), isCut: isCut || page.next !== undefined };
}

/** Return CSV without its line of column names, in which no name has a line break. */
export function withoutHead(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? "" : text.slice(end + 1);
}
