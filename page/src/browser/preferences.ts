/** What a reader prefers on this browser. Where storage is not allowed it lasts until the page is closed. */

import { createStore } from "./store";

const NAMES = ["theme", "zone"] as const;
export type Preference = (typeof NAMES)[number];

const stores = Object.fromEntries(NAMES.map((name) => [name, createStore(readStorage(name))]));

/** Return a preference, undefined if there is none. */
export function preference(name: Preference): string | undefined {
  return stores[name]?.get();
}

/** Remember a preference; undefined forgets it. */
export function setPreference(name: Preference, value: string | undefined): void {
  writeStorage(name, value);
  stores[name]?.set(value);
}

/** Return a preference, and render again when it changes. */
export function usePreference(name: Preference): string | undefined {
  return stores[name]?.use();
}

function readStorage(name: Preference): string | undefined {
  try {
    return localStorage.getItem(`field-lineage-${name}`) ?? undefined;
  } catch {
    return undefined; // storage is blocked: a choice of the reader, not a fault
  }
}

function writeStorage(name: Preference, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`field-lineage-${name}`);
    else localStorage.setItem(`field-lineage-${name}`, value);
  } catch {
    // storage is blocked or full: the preference lasts as long as the page
  }
}
