/** The impact of a change of one field. */
import type { Downstream } from "../api/answers";
import { ApiProblem, type Offline } from "../api/client";
import { count } from "../browser/numbers";
import type { Change } from "../state/page-state";

/** What a field needs beside its change. */
export const NEW_TEXT: Record<Change, string | undefined> = { drop: undefined, rename: "New name", type: "New type" };

/** Return what is downstream in a sentence; direct and indirect count the listed fields alone. */
export function summarize({ fields, fieldCount, datasets, programs }: Downstream): string {
  if (fieldCount === 0 && programs.length === 0) return "Nothing downstream: no recorded run of the window read this field.";
  const direct = fields.filter(({ influence }) => influence === "direct").length;
  const kinds = fields.length === fieldCount && fieldCount > 0 ? ` (${direct} direct, ${fields.length - direct} indirect)` : "";
  return `Downstream: ${count(fieldCount, "field")}${kinds} of ${count(datasets.length, "dataset")}, and ${count(programs.length, "program")}.`;
}

/** Return a problem with the names of a form for those of the request, which has one field. */
export function problemOfForm(problem: ApiProblem | Offline | undefined): ApiProblem | Offline | undefined {
  if (!(problem instanceof ApiProblem)) return problem;
  const errors = problem.errors.map(({ at, detail }) => ({ at: at.replace(/^fields\W0\W+/, ""), detail }));
  return new ApiProblem(problem.status, problem.title, problem.detail, errors, problem.retryAfter);
}
