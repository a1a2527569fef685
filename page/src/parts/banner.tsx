/** Notes above an answer that is not complete. */

import type { Answer } from "../api/client";
import { formatTime, zoneName } from "../state/window";
import { Icon } from "./button";
import { useZone } from "./time";

/** What the server names among the limits where rights, and no limit, left something out. */
const HIDDEN = "hidden";

/** Say which limits cut the answers, and from when on all runs are there. Each note stands once. */
export function Banners({ answers }: { answers: readonly (Answer<unknown> | undefined)[] }) {
  const zone = useZone();
  const limits = unique(answers.map((answer) => answer?.truncatedBy));
  const horizon = Math.max(...answers.map((answer) => answer?.retainedFrom ?? -1));
  return (
    <>
      {limits.map((limit) =>
        limit === HIDDEN ? (
          <Banner key={limit}>This answer has datasets that you may not read: each is shown as “hidden” and a number.</Banner>
        ) : (
          <Banner key={limit}>
            This answer is not complete: the limit <code>{limit}</code> cut it. A shorter window may give all of it.
          </Banner>
        ),
      )}
      {horizon >= 0 && (
        <Banner>
          Runs that started before {formatTime(horizon, zone)} {zoneName(horizon, zone)} may have been deleted by retention.
        </Banner>
      )}
    </>
  );
}

export function Banner({ children }: { children: preact.ComponentChildren }) {
  return (
    <p class="banner" role="note">
      <Icon name="warning" />
      <span>{children}</span>
    </p>
  );
}

function unique(texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.flatMap((text) => text?.split(", ") ?? []))];
}
