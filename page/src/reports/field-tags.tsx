/** The tags of the fields of a report, and what is recorded of the field that it is about. */
import type { SubjectField } from "../api/answers";
import type { Fact } from "../parts/section";
import type { Column } from "../parts/table";
import { TagLink } from "../tags/all-tags";

interface Tagged {
  tags?: readonly string[];
}

/** Return the column of the tags of fields; none if no field has any. */
export function tagColumns(fields: readonly Tagged[]): Column<Tagged>[] {
  const hasTags = fields.some(({ tags = [] }) => tags.length > 0);
  return hasTags ? [{ head: "Tags", cell: ({ tags }) => <TagLinks of={tags} /> }] : [];
}

/** Return the tags of a field and the description of its dataset, for the top of its report. */
export function subjectFacts({ tags = [], datasetDescription }: Partial<SubjectField> = {}): Fact[] {
  return [
    ["Tags", tags.length > 0 && <TagLinks of={tags} />],
    ["Dataset description", datasetDescription],
  ];
}

function TagLinks({ of = [] }: { of?: readonly string[] }) {
  return (
    <span class="tag-names">
      {of.map((tag) => (
        <TagLink key={tag} tag={tag} />
      ))}
    </span>
  );
}
