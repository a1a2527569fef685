/** Numbers, and numbers with their nouns. */

/** Write a number with thousands set apart. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** Write a number with its noun, in the plural unless the number is 1: by default with an `s`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${formatCount(number)} ${number === 1 ? one : many}`;
}
