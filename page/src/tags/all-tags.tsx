/** All tags in use, and the fields that have one. */
import type { FieldTag } from "../api/answers";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { FieldLink } from "../parts/dataset-link";
import { Empty } from "../parts/empty";
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { More, PagedTable } from "../parts/more";
import type { Column } from "../parts/table";
import { usePages } from "../queries/use-pages";
import { DESCRIPTION, SET } from "./columns";

const COLUMNS: readonly Column<FieldTag>[] = [
  { head: "Field", names: true, cell: (field) => <FieldLink of={field} to={{ view: "tags" }} /> },
  SET,
  DESCRIPTION,
];

export function AllTags() {
  const list = usePages({ path: paths.tags(), params: { limit: 200 } });
  const tags = list.pages.flatMap(({ body }) => body.tags);
  return (
    <Answered of={list.first} lines={4}>
      {() => (
        <>
          {tags.length === 0 && (
            <Empty title="No field has a tag">
              <p>Open a field and choose Tags to set one.</p>
            </Empty>
          )}
          <ul class="tag-names">
            {tags.map((tag) => (
              <li key={tag}>
                <TagLink tag={tag} />
              </li>
            ))}
          </ul>
          <More list={list} what="tags" />
        </>
      )}
    </Answered>
  );
}

export function TagLink({ tag }: { tag: string }) {
  return (
    <Link to={{ view: "tags", tag }} class="tag-name">
      <Name text={tag} />
    </Link>
  );
}

export function TaggedFields({ tag }: { tag: string }) {
  return (
    <PagedTable
      request={{ path: paths.tag(tag), params: { limit: 200 } }}
      rowsOf={({ fields }) => fields}
      what="fields"
      empty={<Empty title="No field has this tag" />}
      automatic={5}
      caption={`Fields tagged ${tag}`}
      columns={COLUMNS}
    />
  );
}
