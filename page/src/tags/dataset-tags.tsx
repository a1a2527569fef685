/** The tags of all fields of a dataset. */
import type { DatasetName, FieldTag } from "../api/answers";
import { paths } from "../api/paths";
import { FieldLink } from "../parts/dataset-link";
import { Empty } from "../parts/empty";
import { Link } from "../parts/link";
import { PagedTable } from "../parts/more";
import type { Column } from "../parts/table";
import { TagLink } from "./all-tags";
import { DESCRIPTION, SET } from "./columns";

const COLUMNS: readonly Column<FieldTag>[] = [
  { head: "Field", names: true, cell: (tag) => <FieldLink of={tag} to={{ view: "tags" }} short /> },
  { head: "Tag", cell: ({ tag }) => <TagLink tag={tag} /> },
  SET,
  DESCRIPTION,
];

export function DatasetTags({ dataset: { namespace, name } }: { dataset: DatasetName }) {
  return (
    <PagedTable
      request={{ path: paths.datasetTags(namespace, name), params: { limit: 200 } }}
      rowsOf={({ tags }) => tags}
      what="tags"
      empty={
        <Empty title="No field of this dataset has a tag">
          <p>
            Open one of <Link to={{ view: "dataset", ns: namespace, name }}>its fields</Link> and choose Tags to set one.
          </p>
        </Empty>
      }
      caption="Tags of the fields of this dataset"
      columns={COLUMNS}
    />
  );
}
