/** The top of a report: what it is about, in which window, as of when, and what can be done with it. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Answer } from "../api/client";
import type { ApiPath, Params } from "../api/paths";
import { Button } from "../parts/button";
import { PrintedPage } from "../parts/printed-page";
import { type Fact, Facts } from "../parts/section";
import { useZone } from "../parts/time";
import { formatTime, pinWindow, zoneName } from "../state/window";
import { CsvMenu } from "./csv-menu";

interface ReportHeadProps {
  title: ComponentChildren;
  answer: Answer<unknown>;
  /** Facts beside those of the window. */
  facts?: readonly Fact[];
  path: ApiPath;
  params: Params;
  /** Values of `part`, each a CSV file; none for a report that is one table. */
  csv: readonly string[];
  /** What the name of a file is made of. */
  names: readonly string[];
  /** Whether the server has the report as a page to print. */
  hasPage?: boolean;
  setWhole: (isWhole: boolean) => void;
}

export function ReportHead({ title, answer, facts = [], path, params, csv, names, hasPage = false, setWhole }: ReportHeadProps) {
  const { window } = answer;
  // The exact window, so that files and pages are about the runs that are shown.
  const exact = { ...params, ...(window && pinWindow(window.start, window.end)) };
  return (
    <header class="report-head">
      <h2>{title}</h2>
      <Facts of={[...facts, ...useWindowFacts(answer)]} />
      <div class="report-actions">
        <Button onClick={() => printWhole(setWhole)}>Print</Button>
        <CsvMenu path={path} params={exact} parts={csv} names={names} />
        {hasPage && (
          <PrintedPage path={path} params={exact} names={names}>
            Report as one page, to print or save
          </PrintedPage>
        )}
      </div>
    </header>
  );
}

function useWindowFacts(answer: Answer<unknown>): Fact[] {
  const zone = useZone();
  // The time of the answer, which is not that of a later rendering.
  const answeredAt = useMemo(() => Date.now() / 1000, [answer]);
  const write = (seconds: number | undefined) => seconds !== undefined && `${formatTime(seconds, zone)} ${zoneName(seconds, zone)}`;
  const { window, retainedFrom } = answer;
  return [
    ["Runs that started from", write(window?.start)],
    ["until, not included", write(window?.end)],
    ["As of", write(answeredAt)],
    ["Deleted runs", retainedFrom === undefined ? "none known in this window" : `possibly those before ${write(retainedFrom)}`],
  ];
}

/** Print with every row that the page has, also those that it does not show at first. */
function printWhole(setWhole: (isWhole: boolean) => void): void {
  setWhole(true);
  // Two frames: the first renders the rows.
  requestAnimationFrame(() => requestAnimationFrame(() => window.print()));
}
