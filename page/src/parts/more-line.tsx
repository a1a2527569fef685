/** The end of a list that comes in pages. Apart from `more`, which few visits need. */
import type { PagesState } from "../queries/use-pages";
import { Button } from "./button";
import { ProblemBox } from "./problem-box";

/** A button for the next page, with the number of items that are shown so far. */
export function MoreLine({ list: { hasMore, more, isLoading, problem }, what, shown }: { list: PagesState<unknown>; what: string; shown: number }) {
  return (
    <>
      {problem && <ProblemBox problem={problem} retry={more} />}
      {hasMore && (
        <p class="more-line">
          <Button onClick={() => more?.()} disabled={isLoading}>
            More {what}
          </Button>{" "}
          {shown} are shown
        </p>
      )}
    </>
  );
}
