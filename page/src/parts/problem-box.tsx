/** What the API refused, or that nothing answers. */

import { useEffect } from "preact/hooks";
import { ANSWER_SECONDS_MAX, ApiProblem, type Offline } from "../api/client";
import { openSearch } from "../queries/search";
import { pageState } from "../state/navigation";
import { Button, Icon } from "./button";

interface ProblemBoxProps {
  problem: ApiProblem | Offline;
  /** Seconds until it is tried again by itself. */
  retryIn?: number;
  retry?: () => void;
}

export function ProblemBox({ problem, retryIn, retry }: ProblemBoxProps) {
  const { title, detail } = describe(problem);
  useEffect(() => {
    const { name, field } = pageState();
    // A mistyped name: what is like it is most likely what was meant.
    if (problem instanceof ApiProblem && problem.status === 404) openSearch(field ?? name ?? "");
  }, [problem]);
  const errors = problem instanceof ApiProblem ? problem.errors : [];
  return (
    <section class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <h2>{title}</h2>
        {errors.length === 0 && <p>{detail}</p>}
        <ul>
          {errors.map(({ at, detail: text }, index) => (
            <li key={index}>
              <code>{at}</code> {text}
            </li>
          ))}
        </ul>
        {retryIn !== undefined && <p>It is tried again in {retryIn} s.</p>}
        {retry && mayPass(problem) && <Button onClick={retry}>Try again</Button>}
      </div>
    </section>
  );
}

/** Whether the same request may be answered later. */
function mayPass(problem: ApiProblem | Offline): boolean {
  return !(problem instanceof ApiProblem) || problem.status === 0 || problem.status === 429 || problem.status >= 500;
}

/** Return title and text of a problem in the words of the page. */
export function describe(problem: ApiProblem | Offline): { title: string; detail: string } {
  if (!(problem instanceof ApiProblem)) {
    return {
      title: "The server does not answer",
      detail: `No connection, or no answer within ${ANSWER_SECONDS_MAX} seconds. What is shown may be older.`,
    };
  }
  const { status, title, detail } = problem;
  // The hint of the API is for programs; here the search is open.
  if (status === 404) return { title: "Not found", detail: detail.replace(/ Use \/v3\/search.*/, " The search lists what has a similar name.") };
  if (status === 503) return { title: "The store does not answer", detail };
  return { title: status === 400 ? "The question is not valid" : title || `Status ${status}`, detail };
}
