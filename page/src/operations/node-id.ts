/** Ids of the nodes of a field's lineage. */

/** Return the origin and the field of an id: the field has no `.`, it is `%2E` there, and `%` is `%25`. */
export function parseNodeId(id: string): { origin: string; field: string } {
  const dot = id.lastIndexOf(".");
  // Of a hidden dataset: a number alone.
  if (dot < 0) return { origin: "", field: id.replace("-", " ") };
  const field = id.slice(dot + 1).replaceAll("%2E", ".").replaceAll("%25", "%");
  return { origin: id.slice(0, dot), field };
}
