/** A link to a diff as a page to print. */
import type { Answer } from "../api/client";
import { hasDotSegment } from "../api/dot-names";
import type { ApiPath, Params } from "../api/paths";
import { PrintedPage } from "../parts/printed-page";
import { pinWindow } from "../state/window";

interface PrintedDiffProps {
  request: { path: ApiPath; params: Params };
  answer: Answer<unknown>;
  names: readonly string[];
}

export function PrintedDiff({ request: { path, params }, answer: { window, base }, names }: PrintedDiffProps) {
  // A browser takes names such as `..` out of a link.
  if (window === undefined || base === undefined || hasDotSegment(path)) return null;
  const { start, end } = pinWindow(base.start, base.end);
  const exact = { ...params, ...pinWindow(window.start, window.end), baseStart: start, baseEnd: end };
  return (
    <p class="printed-diff">
      <PrintedPage path={path} params={exact} names={[...names, "changes"]}>
        Changes as one page, to print or save
      </PrintedPage>
    </p>
  );
}
