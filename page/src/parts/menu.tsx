/** A panel that opens below a button, and closes by Escape, by a click elsewhere and when the focus leaves it. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./button";

interface MenuProps {
  /** The text of the button. */
  text: ComponentChildren;
  icon?: IconName;
  label?: string;
  /** The content; `close` closes the panel and returns the focus to the button. */
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ text, icon, label, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const leave = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    for (const type of ["pointerdown", "focusin"]) addEventListener(type, leave);
    return () => {
      for (const type of ["pointerdown", "focusin"]) removeEventListener(type, leave);
    };
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return (
    <div class="menu" ref={box} onKeyDown={closeByKey}>
      <button ref={button} type="button" class="button plain" aria-expanded={isOpen} aria-label={label} onClick={() => setOpen(!isOpen)}>
        {icon && <Icon name={icon} />}
        {text}
        <Icon name="down" />
      </button>
      {isOpen && <div class="menu-panel">{children(close)}</div>}
    </div>
  );
}
