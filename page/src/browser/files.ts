/** Files that a reader saves. */

/** Return a file name of plain characters from names of any kind. */
export function fileName(parts: readonly (string | undefined)[], extension: string): string {
  const text = parts.filter(Boolean).join("-").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 100);
  return `${text || "lineage"}.${extension}`;
}

/** Offer a file for download. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // Not at once: the browser reads the address after this task.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
