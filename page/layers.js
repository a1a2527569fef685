// Check that imports go down the rooms of `src/` only, and never in a circle: `npm run check`.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** The lowest first. Rooms of one line do not import each other; files beside the rooms import any. */
const LAYERS = [
  ["browser"],
  ["api"],
  ["state"],
  ["queries"],
  ["parts"],
  ["dataset", "graph", "operations", "runs", "tags"],
  ["reports"],
  ["home"],
  ["screens"],
];

const SOURCE = join(import.meta.dirname, "src");
const IMPORT = /(?:\bfrom\s+|\bimport\s*\(?\s*)"(\.[^"]+)"/g;

const files = readdirSync(SOURCE, { recursive: true }).filter((file) => /\.tsx?$/.test(file));
const modules = new Map(files.map((file) => [file.replace(/\.tsx?$/, ""), readFileSync(join(SOURCE, file), "utf8")]));
const importsOf = new Map(
  [...modules].map(([name, text]) => {
    const targets = [...text.matchAll(IMPORT)].map(([, path]) => relative(SOURCE, join(SOURCE, dirname(name), path)));
    return [name, targets.filter((target) => modules.has(target))];
  }),
);

/** Return the number of the layer of a module, and its room; Infinity for a file beside the rooms. */
function placeOf(name) {
  const room = name.includes("/") ? name.split("/")[0] : "";
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
  return { room, layer: room === "" ? Infinity : layer };
}

/** Return what is wrong with the import of one module by another, undefined if nothing is. */
function faultOf(name, target) {
  const [from, to] = [placeOf(name), placeOf(target)];
  if (from.layer < 0) return `${from.room} is in no layer`;
  return from.room === to.room || to.layer < from.layer ? undefined : `${to.room || "the top"} is not below ${from.room}`;
}

/** Return the modules of each circle that a walk from a module enters, as a text. */
function circlesFrom(name, path, seen) {
  if (path.includes(name)) return [[...path.slice(path.indexOf(name)), name].join(" → ")];
  if (seen.has(name)) return [];
  seen.add(name);
  return importsOf.get(name).flatMap((target) => circlesFrom(target, [...path, name], seen));
}

const seen = new Set();
const faults = [
  ...[...importsOf].flatMap(([name, targets]) =>
    targets.flatMap((target) => (faultOf(name, target) ? [`${name} imports ${target}: ${faultOf(name, target)}`] : [])),
  ),
  ...[...importsOf.keys()].flatMap((name) => circlesFrom(name, [], seen)).map((circle) => `circle: ${circle}`),
];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
