/** Light or dark: what the system says, or what the reader chose. */

import { preference, setPreference } from "./preferences";

export type Theme = "light" | "dark";

/** Return the theme that is shown. */
export function shownTheme(): Theme {
  const chosen = preference("theme");
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Show the theme that was chosen, else that of the system. */
export function applyTheme(): void {
  const chosen = preference("theme");
  if (chosen === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

/** Choose a theme. The one of the system is no choice: it is followed when it changes. */
export function chooseTheme(theme: Theme): void {
  const system: Theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  setPreference("theme", theme === system ? undefined : theme);
  applyTheme();
}
