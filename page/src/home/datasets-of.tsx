/** The datasets of a namespace, page by page. */

import type { Datasets } from "../answers";
import { paths } from "../api";
import { Answered } from "../parts/answered";
import { Button } from "../parts/button";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { ProblemBox } from "../parts/problem-box";
import { usePages } from "../use-pages";

export function DatasetsOf({ ns }: { ns: string }) {
  const { first, pages, more, hasMore, isLoading, problem } = usePages<Datasets>({ path: paths.datasets(ns), params: { limit: 100 } });
  const datasets = pages.flatMap(({ body }) => body.endpoints);
  return (
    <Answered of={first} lines={4}>
      {() => (
        <>
          <ul class="datasets">
            {datasets.map(({ name, description }) => (
              <li key={name}>
                <Link to={{ view: "dataset", ns, name }}>
                  <Name text={name} />
                </Link>
                <span class="of">{description}</span>
              </li>
            ))}
          </ul>
          {datasets.length === 0 && <p class="nothing">No datasets.</p>}
          {problem && <ProblemBox problem={problem} retry={more} />}
          {hasMore && (
            <p class="more-line">
              <Button onClick={() => more?.()} disabled={isLoading}>
                More datasets
              </Button>{" "}
              {datasets.length} are shown
            </p>
          )}
        </>
      )}
    </Answered>
  );
}
