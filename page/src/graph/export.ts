/** Files of what is drawn: the SVG itself with its styles as attributes, and PNG by a canvas. */

import { download } from "../browser/files";
import { toCsv, type Asked } from "./csv";
import type { Graph } from "./model";

/** What a file of a graph is made of; without a drawing there is no picture. */
export interface Shown {
  readonly graph: Graph;
  readonly asked: Asked;
  readonly drawing: SVGSVGElement | null;
  readonly title: string;
}

export type FileKind = "svg" | "png" | "csv";

/** Offer a graph as a file. Rejects if the browser cannot draw it. */
export async function saveGraph(name: string, kind: FileKind, shown: Shown): Promise<void> {
  download(name, await toFile(kind, shown));
}

async function toFile(kind: FileKind, { graph, asked, drawing, title }: Shown): Promise<Blob> {
  if (kind === "csv" || drawing === null) return new Blob([toCsv(graph, asked)], { type: "text/csv" });
  const picture = copyDrawing(drawing, title);
  return kind === "png" ? toPng(picture) : new Blob([picture.svg], { type: "image/svg+xml" });
}

export const PNG_SIDE_MAX = 16_384;
export const PNG_PIXELS_MAX = 64_000_000;
const CAPTION = 28;
const PADDING = 24;

const PROPERTIES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "dominant-baseline",
];

/** A picture as text, with its size in CSS pixels. */
interface Picture {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

/** Return a copy of a drawing that needs no style sheet, in its full size, below a line that says what it shows. */
function copyDrawing(drawing: SVGSVGElement, caption: string): Picture {
  const [width, height] = [Number(drawing.dataset.width), Number(drawing.dataset.height)];
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  inlineStyles(drawing, copy);
  for (const name of [...copy.getAttributeNames()]) copy.removeAttribute(name);
  const size = { width: Math.max(width, caption.length * 7 + 2 * PADDING), height: height + CAPTION };
  setAttributes(copy, { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  const style = getComputedStyle(drawing);
  const graph = svgElement("g", { transform: `translate(0 ${CAPTION})` });
  copy.firstElementChild?.removeAttribute("transform");
  graph.append(...copy.childNodes);
  const text = { x: PADDING, y: CAPTION, fill: style.color, "font-family": style.fontFamily, "font-size": 13 };
  copy.append(svgElement("rect", { width: "100%", height: "100%", fill: backgroundOf(drawing) }));
  copy.append(svgElement("title", {}, caption), svgElement("text", text, caption), graph);
  return { svg: toValidXml(new XMLSerializer().serializeToString(copy)), ...size };
}

function inlineStyles(original: Element, copy: Element): void {
  const copies = [...copy.querySelectorAll("*")];
  [...original.querySelectorAll("*")].forEach((element, index) => {
    const [style, twin] = [getComputedStyle(element), copies[index]!];
    const isDrawn = !["title", "g", "tspan"].includes(element.localName);
    for (const name of ["class", "tabindex", "role", ...twin.getAttributeNames().filter((each) => /^(aria|data)-/.test(each))])
      twin.removeAttribute(name);
    if (style.display === "none") twin.setAttribute("display", "none");
    else if (isDrawn)
      for (const name of PROPERTIES) {
        const value = style.getPropertyValue(name);
        if (value && !isInitial(name, value, element.localName)) twin.setAttribute(name, value);
      }
  });
}

/** Return whether a value need not be written: this keeps files of large graphs small. */
function isInitial(name: string, value: string, element: string): boolean {
  if (/^(font|text|dominant)/.test(name)) return element !== "text" || ["normal", "auto", "start"].includes(value);
  return (
    (name === "stroke" && value === "none") ||
    (name.endsWith("opacity") && value === "1") ||
    (name === "stroke-dasharray" && value === "none") ||
    (name === "stroke-width" && value === "1px")
  );
}

function backgroundOf(drawing: Element): string {
  for (let element: Element | null = drawing; element; element = element.parentElement) {
    const color = getComputedStyle(element).backgroundColor;
    if (color !== "transparent" && color !== "rgba(0, 0, 0, 0)") return color;
  }
  return "white";
}

function svgElement(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  setAttributes(element, attributes);
  element.textContent = text;
  return element;
}

function setAttributes(element: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** Replace what XML cannot hold, control characters and lone surrogates, by U+FFFD: names may have them. */
export function toValidXml(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

/** Return the factor by which a picture of this size is drawn as PNG: 2, or less where a canvas has limits. */
export function pngScale(width: number, height: number): number {
  const bySide = PNG_SIDE_MAX / Math.max(width, height);
  const byPixels = Math.sqrt(PNG_PIXELS_MAX / (width * height));
  return Math.min(2, bySide, byPixels);
}

/** Draw a picture as PNG. Rejects if the browser cannot draw it. */
async function toPng({ svg, width, height }: Picture): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = pngScale(width, height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.floor(width * scale);
    canvas.height = Math.floor(height * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for this browser."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
