/** Values that several parts of the page share. */

import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get: () => T;
  set: (value: T) => void;
  /** Return the value, and render again when it changes. */
  use: () => T;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<(value: T) => void>();
  const get = () => value;
  const set = (next: T) => {
    value = next;
    for (const listener of [...listeners]) listener(next);
  };
  const use = () => {
    const [, setSeen] = useState(value);
    useEffect(() => {
      const listener = (next: T) => setSeen(() => next);
      listeners.add(listener);
      listener(value); // it may have changed between rendering and this effect
      return () => void listeners.delete(listener);
    }, []);
    return value;
  };
  return { get, set, use };
}
