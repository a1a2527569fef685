/** What an operation does: words, or the text of its SQL. */

/** Operators, calls, clauses, a column with its table: what words of a description have not. */
const CODE = /\n|[=<>;]|\w\(|\b(?:SELECT|INSERT|CASE|WHERE|GROUP BY|ORDER BY|JOIN|UNION)\b|^[\w"`]+(?:\.[\w"`]+)+$/;

/** Return whether a text is to be shown as code, with its line breaks. */
export function isCode(text: string): boolean {
  return CODE.test(text);
}

export function Description({ text }: { text: string }) {
  if (text === "") return null;
  if (!isCode(text)) return <p class="description">{text}</p>;
  return <Code text={text} label="Text" />;
}

/** A text with its line breaks. A long one scrolls, so it can be reached by keyboard. */
export function Code({ text, label }: { text: string; label: string }) {
  const isLong = text.length > 400 || text.split("\n").length > 12;
  return (
    <pre class="code" {...(isLong ? { tabIndex: 0, role: "region", "aria-label": label } : {})}>
      <code>{text}</code>
    </pre>
  );
}
