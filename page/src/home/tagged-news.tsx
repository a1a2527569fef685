/** What the last day made from tagged fields, and no earlier run of the window did. */
import type { FieldTag, Reach, TaggedFields } from "../api/answers";
import { apiUrl } from "../api/client";
import { paths } from "../api/paths";
import { count } from "../browser/numbers";
import { Answered } from "../parts/answered";
import { Banners } from "../parts/banner";
import { FieldLink } from "../parts/dataset-link";
import { Name } from "../parts/field-name";
import { LimitedTable } from "../parts/more";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { readBatch } from "../queries/batch";
import { useAnswer } from "../queries/use-answer";
import { useBatch } from "../queries/use-batch";
import type { PageState, WindowText } from "../state/page-state";
import { resolveTime } from "../state/window";
import { type Derivation, newDerivations } from "./derivations";

const TAGS_FOLLOWED = 10;
/** Each of them is a walk through the whole window. */
const FIELDS_FOLLOWED = 20;
const ROWS_FIRST = 6;
const CAPTION = "Fields made from tagged fields for the first time in the window, newest first";

const COLUMNS: readonly Column<Derivation>[] = [
  { head: "First run", cell: ({ edge }) => <Time ms={edge.firstStart ?? 0} /> },
  { head: "Made", names: true, cell: ({ edge }) => <FieldLink of={edge.to} to={{ view: "operations" }} /> },
  { head: "From", cell: ({ edge }) => <FieldLink of={edge.from} /> },
  { head: "Influence", cell: ({ edge }) => (edge.influence === "direct" ? "value" : <span class="only-shaped">only shaped</span>) },
  { head: "Tagged", cell: ({ tags, tagged: [first, ...others] }) => <Tagged tags={tags} first={first} others={others.length} /> },
];

interface TaggedNewsProps {
  day: WindowText;
  state: PageState;
}

export function TaggedNews({ day, state: { start, end } }: TaggedNewsProps) {
  const since = resolveTime(day.start, Date.now() / 1000);
  const tags = useAnswer({ path: paths.tags(), params: { limit: TAGS_FOLLOWED } });
  if (day.start === start || since === undefined) {
    return <p class="quiet">In a window of more than a day: what its last day made from tagged fields for the first time.</p>;
  }
  return (
    <Answered of={tags} lines={3}>
      {({ body, next }) => <NewsOfTags tags={body.tags} isCut={next !== undefined} since={since} start={start} end={end} />}
    </Answered>
  );
}

interface NewsProps extends WindowText {
  /** Whether there are other tags or fields than these. */
  isCut: boolean;
  /** Seconds since 1970: what was made earlier is not new. */
  since: number;
}

function NewsOfTags({ tags, isCut, ...window }: NewsProps & { tags: readonly string[] }) {
  const lists = useBatch(tags.map((tag) => apiUrl(paths.tag(tag), { limit: FIELDS_FOLLOWED })));
  if (tags.length === 0) return <p class="quiet">No field has a tag.</p>;
  return (
    <Answered of={lists} lines={3}>
      {({ body }) => {
        const pages = readBatch<TaggedFields>(body);
        const fields = pages.flatMap((page) => page.body?.fields ?? []);
        const hasOthers = fields.length > FIELDS_FOLLOWED || pages.some(({ next }) => next !== undefined);
        return (
          <>
            <Banners answers={pages} />
            <NewsOfFields fields={fields.slice(0, FIELDS_FOLLOWED)} isCut={isCut || hasOthers} {...window} />
          </>
        );
      }}
    </Answered>
  );
}

function NewsOfFields({ fields, isCut, since, start, end }: NewsProps & { fields: readonly FieldTag[] }) {
  const params = { direction: "forward", start, end } as const;
  const walks = useBatch(fields.map(({ namespace, name, field }) => apiUrl(paths.reach(namespace, name, field), params)));
  if (fields.length === 0) return <p class="quiet">No field has a tag.</p>;
  return (
    <Answered of={walks} lines={3}>
      {({ body }) => {
        const reached = readBatch<Reach>(body);
        const downstream = fields.map(({ tag, namespace, name, field }, index) => ({ tag, field: { namespace, name, field }, edges: reached[index]?.body?.edges ?? [] }));
        const derivations = newDerivations(downstream, since);
        return (
          <>
            <Banners answers={reached} />
            {derivations.length === 0 && <p class="quiet">No field was made from them for the first time.</p>}
            {derivations.length > 0 && <LimitedTable caption={CAPTION} columns={COLUMNS} rows={derivations} what="fields" first={ROWS_FIRST} />}
            {isCut && <p class="quiet">The first {count(fields.length, "tagged field")} are followed. A flow policy follows all.</p>}
          </>
        );
      }}
    </Answered>
  );
}

function Tagged({ tags, first, others }: { tags: readonly string[]; first: Derivation["tagged"][number] | undefined; others: number }) {
  return (
    <>
      {tags.map((tag) => <span key={tag} class="tag-name"><Name text={tag} /></span>)} {first && <FieldLink of={first} to={{ view: "tags" }} />}
      {others > 0 && ` and ${others} more`}
    </>
  );
}
