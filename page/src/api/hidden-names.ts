/** Names for what the principal may not see: the API gives it a number alone. */

/** The field of something hidden: no field that is shown has an empty name. */
export const HIDDEN_FIELD = "";

/** Members that `nameHidden` adds to what is hidden, beside the number of the answer. */
export const HIDDEN_MEMBERS = ["hidden", "namespace", "name", "field", "application", "program", "type", "version", "origin"];

/** Return whether a namespace is that of something hidden: a real one is never empty. */
export function isHiddenNamespace(namespace: string | undefined): boolean {
  return namespace === "";
}

/** Return the namespace that a run is asked for in: that of something hidden for a run that has a number for an id. */
export function namespaceOfRun(run: string, namespace: string | undefined): string | undefined {
  return /^hidden \d+$/.test(run) && !namespace ? "" : namespace;
}

/** A reviver of `JSON.parse` that adds the names; an edge without fields to something hidden is an unknown one. */
export function nameHidden(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isHidden(value)) {
    const name = `hidden ${String(value.hidden)}`;
    const names = { namespace: "", name, field: HIDDEN_FIELD, application: "", program: name, type: "", version: "", origin: name };
    return { ...names, ...value };
  }
  if ("fieldmap" in value && "source" in value && "destination" in value) {
    const isEmpty = Array.isArray(value.fieldmap) && value.fieldmap.length === 0;
    if (isEmpty && (isHidden(value.source) || isHidden(value.destination))) return { ...value, unknown: true };
  }
  return value;
}

function isHidden(value: unknown): value is { hidden: unknown } {
  return typeof value === "object" && value !== null && "hidden" in value;
}
