/** The tags of a field: its own, to set and remove, and those of fields that its values come from. */
import { useState } from "preact/hooks";
import type { FieldName, FieldTag } from "../api/answers";
import { paths } from "../api/paths";
import { FieldLink } from "../parts/dataset-link";
import { PagedTable, PagesTable } from "../parts/more";
import { Path } from "../parts/path";
import { Section } from "../parts/section";
import type { Column } from "../parts/table";
import { usePages } from "../queries/use-pages";
import type { PageState } from "../state/page-state";
import { TagLink } from "./all-tags";
import { DESCRIPTION, SET } from "./columns";
import { RemoveTag } from "./remove-tag";
import { SetTag } from "./set-tag";

const TAG: Column<FieldTag> = { head: "Tag", names: true, cell: ({ tag }) => <TagLink tag={tag} /> };
const INHERITED: readonly Column<FieldTag>[] = [
  TAG,
  { head: "From", cell: (tag) => <FieldLink of={tag} to={{ view: "tags" }} /> },
  { head: "By way of", cell: ({ path = [] }) => <Path steps={path} /> },
  SET,
  DESCRIPTION,
];

export function FieldTagsView({ field: { namespace, name, field }, state: { start, end } }: { field: FieldName; state: PageState }) {
  const path = paths.fieldTags(namespace, name, field);
  const pathOf = (tag: string) => paths.fieldTag(namespace, name, field, tag);
  const [changes, setChanges] = useState(0);
  const own = usePages({ path, params: { limit: 200 } });
  const changed = () => {
    setChanges((before) => before + 1);
    own.first.retry();
  };
  const answer = own.first.answer?.body;
  const isChangeable = answer !== undefined && answer.changeable === undefined;
  const remove: Column<FieldTag> = { head: "Remove", cell: ({ tag }) => <RemoveTag tag={tag} path={pathOf(tag)} changed={changed} /> };
  return (
    <div class="tags-screen">
      <Section title="Tags of this field">
        <PagesTable
          list={own}
          rowKey={({ tag }) => tag}
          rowsOf={({ tags }) => tags}
          what="tags"
          empty={<p class="quiet">It has none of its own.</p>}
          caption="Tags of this field"
          columns={isChangeable ? [TAG, SET, DESCRIPTION, remove] : [TAG, SET, DESCRIPTION]}
        />
        {isChangeable && <SetTag pathOf={pathOf} changed={changed} />}
        {answer?.changeable === false && <p class="quiet">To set tags, the role steward on this namespace is needed.</p>}
      </Section>
      <Section title="Inherited" note="from fields that its values come from, in the runs of the window">
        <PagedTable
          version={changes}
          request={{ path, params: { inherited: true, start, end, limit: 200 } }}
          rowsOf={({ tags }) => tags.filter((tag) => (tag.path?.length ?? 0) > 1)}
          what="inherited tags"
          empty={<p class="quiet">No such field has a tag.</p>}
          caption="Inherited tags"
          columns={INHERITED}
        />
      </Section>
    </div>
  );
}
