/** Tables. */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Align numbers at the right. */
  numeric?: boolean;
  /** The cell that names its row. */
  names?: boolean;
}

interface TableProps<Row> {
  caption: string;
  /** Show the caption; it is always there for screen readers. */
  showCaption?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** A key of a row that no other has; the index by default. */
  rowKey?: (row: Row) => string;
  rowClass?: (row: Row) => string | undefined;
}

export function Table<Row>({ caption, showCaption = false, columns, rows, rowKey, rowClass }: TableProps<Row>) {
  return (
    <div class="table-box" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={showCaption ? "" : "unseen"}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, numeric }) => (
              <th key={head} scope="col" class={numeric ? "numeric" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey ? rowKey(row) : index} class={rowClass?.(row)}>
              {columns.map((column) => (
                <Cell key={column.head} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const content = column.cell(row);
  const style = column.numeric ? "numeric" : undefined;
  return column.names ? (
    <th scope="row" class={style}>
      {content}
    </th>
  ) : (
    <td class={style} data-head={column.head}>
      {content}
    </td>
  );
}
