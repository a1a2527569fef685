/** Components that render again only when a property changes. `preact/compat` has the same, and 3 kB beside it. */

import { Component, type ComponentType, h, type VNode } from "preact";

/** Return a component that renders again only if a property is another value than before. */
export function memo<Props extends object>(inner: ComponentType<Props>): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return !isEqualShallow(this.props as Props, next);
    }

    render(props: Props): VNode<Props> {
      return h(inner, props);
    }
  };
}

function isEqualShallow<T extends object>(before: T, after: T): boolean {
  const keys = Object.keys(after) as (keyof T)[];
  return keys.length === Object.keys(before).length && keys.every((key) => Object.is(before[key], after[key]));
}
