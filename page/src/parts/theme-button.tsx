/** The switch between light and dark. */

import { usePreference } from "../browser/preferences";
import { chooseTheme, shownTheme } from "../browser/theme";
import { Button } from "./button";

export function ThemeButton() {
  usePreference("theme");
  const other = shownTheme() === "dark" ? "light" : "dark";
  const label = other === "dark" ? "Dark theme" : "Light theme";
  return <Button kind="quiet" icon={other === "dark" ? "moon" : "sun"} label={label} onClick={() => chooseTheme(other)} />;
}
