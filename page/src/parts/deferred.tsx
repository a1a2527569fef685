/** Components whose script is loaded when they are first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Offline } from "../api/client";
import { ProblemBox } from "./problem-box";

/** Return a component that loads another one and then shows it; all of its places share what was loaded. */
export function deferred<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Deferred(props: Props) {
    const [Shown, show] = useState(() => loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (Shown || failed) return;
      load().then(
        (component) => show(() => (loaded = component)),
        () => setFailed(true),
      );
    }, [failed]);
    if (Shown) return <Shown {...props} />;
    if (failed) return <ProblemBox problem={new Offline()} retry={() => setFailed(false)} />;
    return <div aria-busy="true" />;
  };
}
