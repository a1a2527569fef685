/** What is new, and what is wrong: runs, violated policies, what tagged fields became, documents that did not arrive whole. */
import { Section } from "../parts/section";
import type { PageState } from "../state/page-state";
import { Arrivals } from "./arrivals";
import { lastDay } from "./last-day";
import { NothingRecorded } from "./nothing-recorded";
import { PolicyList } from "./policy-list";
import { RunNews } from "./run-news";
import { TaggedNews } from "./tagged-news";

interface HomeNewsProps {
  state: PageState;
  /** Whether there is no dataset: then only documents can be wrong. */
  isEmpty: boolean;
}

export function HomeNews({ state, isEmpty }: HomeNewsProps) {
  const day = lastDay(state, Date.now() / 1000);
  const isNow = day.end === "now";
  const arrivals = (
    <Section title="Refused documents, and warnings" note={isNow ? undefined : "since the start of that day"}>
      <Arrivals day={day} />
    </Section>
  );
  if (isEmpty) {
    return (
      <>
        <NothingRecorded />
        {arrivals}
      </>
    );
  }
  return (
    <div class="report">
      <div class="news">
        <Section title="Runs" note={day.start === state.start ? "of the window" : isNow ? "of the last day" : "of the last day of the window"}>
          <RunNews day={day} state={state} />
        </Section>
        <Section title="Flow policies" note="over the window">
          <PolicyList state={state} />
        </Section>
      </div>
      <Section title="New from tagged fields" note={isNow ? "in the last day" : "in the last day of the window"}>
        <TaggedNews day={day} state={state} />
      </Section>
      {arrivals}
    </div>
  );
}
