/** Columns of tables of tags. */
import type { FieldTag } from "../api/answers";
import { Name } from "../parts/field-name";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";

/** When a tag was set, and by whom. */
export const SET: Column<FieldTag> = {
  head: "Set",
  cell: ({ by, at }) => (
    <span class="quiet">
      <Time ms={at} /> {by && <>by <Name text={by} /></>}
    </span>
  ),
};

export const DESCRIPTION: Column<FieldTag> = { head: "Description", cell: ({ description }) => description };
