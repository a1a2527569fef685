/** Choices that are part of the address: links, so that each can be copied. */

import { useEffect, useRef } from "preact/hooks";
import type { PageState } from "../state/page-state";
import { Link } from "./link";

export interface Option<Key extends string> {
  key: Key;
  label: string;
  count?: number | string;
}

interface ChoiceProps<Key extends string> {
  /** What is chosen, for screen readers. */
  label: string;
  options: readonly Option<Key>[];
  current: Key;
  to: (key: Key) => Partial<PageState>;
}

/** Parts of a screen, under one line. */
export function Tabs<Key extends string>(props: ChoiceProps<Key>) {
  return <Options {...props} style="tabs" />;
}

/** Variants of one answer, as joined buttons. */
export function Choice<Key extends string>(props: ChoiceProps<Key>) {
  return <Options {...props} style="choice" />;
}

function scrollToCurrent(nav: HTMLElement | null): void {
  const current = nav?.querySelector<HTMLElement>("[aria-current]");
  // Not scrollIntoView, which would scroll the page, too.
  if (nav && current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;
}

function Options<Key extends string>({ label, options, current, to, style }: ChoiceProps<Key> & { style: string }) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => scrollToCurrent(nav.current), [current]);
  return (
    <nav ref={nav} class={style} aria-label={label}>
      {options.map(({ key, label: text, count }) => (
        <Link key={key} to={to(key)} current={key === current ? "page" : undefined}>
          {text}
          {count !== undefined && <span class="count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
