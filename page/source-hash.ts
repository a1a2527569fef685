// The hash that ties a build to its source; `tests/api/routes/test_page.py` computes the same without Node.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SKIPPED = new Set(["node_modules"]);

/** List all files below a folder as paths with `/`, without node_modules and hidden files. */
function listFiles(folder: string, prefix = ""): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name) && !entry.name.startsWith("."))
    .flatMap((entry) => {
      const path = prefix + entry.name;
      return entry.isDirectory() ? listFiles(folder, `${path}/`) : [path];
    });
}

/** Return SHA-256, in hex, over all files in the order of their paths: path, size in bytes, bytes. */
export function sourceHash(folder: string): string {
  const hash = createHash("sha256");
  const paths = listFiles(folder).map((path) => ({ path, key: Buffer.from(path) }));
  for (const { path } of paths.sort((a, b) => Buffer.compare(a.key, b.key))) {
    const bytes = readFileSync(join(folder, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}
