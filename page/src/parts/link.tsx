/** Links to other states of the page. */

import type { ComponentChildren } from "preact";
import { isHiddenNamespace } from "../api/hidden-names";
import { pageState, push, replace } from "../state/navigation";
import type { PageState } from "../state/page-state";
import { href, nextState } from "../state/url";

interface LinkProps {
  /** The change of the state; see `nextState`. */
  to: Partial<PageState>;
  /** Change the state in place: for what is selected. */
  inPlace?: boolean;
  class?: string;
  title?: string;
  current?: "page" | "true";
  label?: string;
  children: ComponentChildren;
}

/** A real link: it can be copied and opened elsewhere; a plain click changes the page in place. To what is hidden there is none. */
export function Link({ to, inPlace = false, current, label, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    (inPlace ? replace : push)(to);
  };
  if (isHiddenNamespace(to.ns)) return <span {...rest}>{children}</span>;
  return (
    <a {...rest} href={href(nextState(pageState(), to))} onClick={follow} aria-current={current} aria-label={label}>
      {children}
    </a>
  );
}
