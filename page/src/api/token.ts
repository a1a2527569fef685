/** The token of the reader, kept until this tab is closed, and whether the server asks for one. */

import { createStore } from "../browser/store";

const KEY = "field-lineage-token";

interface Access {
  token?: string;
  /** Whether the server refused the last request for want of a token, or of a valid one. */
  isAsked: boolean;
  /** How often a token was given: what was asked before is asked again. */
  version: number;
}

const access = createStore<Access>({ token: read(), isAsked: false, version: 0 });

export const useAccess = access.use;

/** Return the token, undefined if none was given. */
export function currentToken(): string | undefined {
  return access.get().token;
}

/** Ask for another token than the one that was refused, unless there is one already. */
export function askForToken(refused: string | undefined): void {
  const now = access.get();
  if (refused === now.token) access.set({ ...now, isAsked: true });
}

/** Use a token from now on. */
export function giveToken(text: string): void {
  const token = text.trim();
  write(token);
  access.set({ token, isAsked: false, version: access.get().version + 1 });
}

/** Return whether a text can be a token at all: one that no header can have would fail as if offline. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9._~+/-]+=*$/.test(text.trim());
}

/** Return the header of a token, none without one. */
export function tokenHeaders(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function read(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined; // storage is blocked: a choice of the reader, not a fault
  }
}

function write(token: string): void {
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // storage is blocked: the token lasts until the page is loaded again
  }
}
