/** Names of datasets and fields: of any length, always readable in full. */

import { HIDDEN_FIELD } from "../api/hidden-names";

/** Characters of a name in a list; longer ones lose their middle, since both ends tell more. */
const SHOWN_MAX = 80;
const TAIL = 24;

/** Return a name of at most `max` characters, with `…` for its middle; never half a character. */
export function shorten(text: string, max = SHOWN_MAX): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const tail = Math.min(TAIL, Math.floor(max / 3));
  return `${characters.slice(0, max - tail - 1).join("")}…${characters.slice(-tail).join("")}`;
}

interface NameProps {
  text: string;
  /** Show all of it, however long. */
  whole?: boolean;
}

/** A name. What is shortened has all of it as tooltip; the heading of its own screen shows it whole. */
export function Name({ text, whole = false }: NameProps) {
  const shown = whole ? text : shorten(text);
  return (
    <bdi class="name" title={shown === text ? undefined : text}>
      {shown}
    </bdi>
  );
}

/** Names in a row; those of something hidden are empty, and left out. */
export function Names({ of, between }: { of: readonly string[]; between: string }) {
  const given = of.filter((text) => text !== "");
  return (
    <>
      {given.map((text, index) => (
        <>
          {index > 0 && between}
          <Name text={text} />
        </>
      ))}
    </>
  );
}

/** A field as lineage names it: null is "generated" or "dropped", `*` is every row of the dataset. */
export function FieldLabel({ field, absent }: { field: string | null; absent: "generated" | "dropped" }) {
  if (field === null) return <em class="word">{absent}</em>;
  if (field === HIDDEN_FIELD) return <em class="word">hidden fields</em>;
  return field === "*" ? <em class="word">every row</em> : <Name text={field} />;
}
