/** Buttons and icons. */

import type { ComponentChildren } from "preact";

/** Icons of 16 units, drawn with the colour of the text. */
const ICONS = {
  back: "M10 3 5 8l5 5",
  forth: "m6 3 5 5-5 5",
  down: "m4 6 4 4 4-4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  close: "m4 4 8 8M12 4l-8 8",
  pin: "M6 2h4M7 2v4L4.5 9h7L9 6V2M8 9v5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  download: "M8 2v8m-3.5-3L8 10.5 11.5 7M3 13.5h10",
  graph: "M5 3.5h1.5c3 0 1.5 9 4.5 9M5 12.5h6M5 3.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0ZM5 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0ZM14 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Z",
  help: "M6 6a2 2 0 1 1 2.6 1.9c-.5.2-.6.6-.6 1.1v.4M8 12h.01",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  warning: "M8 2.5 14.5 13.5h-13ZM8 6.5V10M8 12h.01",
} as const;
export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

interface ButtonProps {
  /** A submit button needs none. */
  onClick?: () => void;
  icon?: IconName;
  /** The accessible name and tooltip of a button without text. */
  label?: string;
  kind?: "plain" | "quiet" | "primary";
  pressed?: boolean;
  disabled?: boolean;
  type?: "button" | "submit";
  children?: ComponentChildren;
}

export function Button({ icon, label, kind = "plain", pressed, children, type = "button", ...rest }: ButtonProps) {
  const isIcon = children === undefined;
  return (
    <button
      {...rest}
      type={type}
      class={`button ${kind}${isIcon ? " icon-only" : ""}`}
      aria-label={label}
      title={label}
      aria-pressed={pressed}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
