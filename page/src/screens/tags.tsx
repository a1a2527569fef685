/** Tags of fields, and the policies that use them. */
import { Name } from "../parts/field-name";
import { Link } from "../parts/link";
import { Section } from "../parts/section";
import { FlowPolicyTable, RetentionPolicyTable } from "../reports/policy-table";
import type { PageState } from "../state/page-state";
import { AllTags, TaggedFields } from "../tags/all-tags";
import { DatasetTags } from "../tags/dataset-tags";
import { FieldTagsView } from "../tags/field-tags";

export function TagsScreen({ state }: { state: PageState }) {
  const { ns, name, field, tag } = state;
  if (ns !== undefined && name !== undefined && field !== undefined) {
    return <FieldTagsView key={field} field={{ namespace: ns, name, field }} state={state} />;
  }
  if (ns !== undefined && name !== undefined) return <DatasetTags dataset={{ namespace: ns, name }} />;
  return (
    <div class="tags-screen">
      <h1>{tag === undefined ? "Tags" : <>Fields tagged <Name text={tag} whole /></>}</h1>
      {tag === undefined ? <AllTags /> : <TaggedFields key={tag} tag={tag} />}
      {tag !== undefined && <p><Link to={{ tag: undefined }}>All tags</Link></p>}
      <Section title="Retention policies">
        <RetentionPolicyTable />
      </Section>
      <Section title="Flow policies">
        <FlowPolicyTable />
      </Section>
    </div>
  );
}
