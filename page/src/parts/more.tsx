/** Tables of many rows: of an answer that has them all, and of a list that comes in pages. */
import { useEffect } from "preact/hooks";
import type { Params } from "../api/paths";
import type { ApiRequest } from "../queries/use-answer";
import { type PagesState, usePages } from "../queries/use-pages";
import { Answered } from "./answered";
import { Button } from "./button";
import { Limited } from "./limited";
import { ProblemBox } from "./problem-box";
import { type Column, Table } from "./table";

interface RowsProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rowKey?: (row: Row) => string;
}

interface LimitedTableProps<Row> extends RowsProps<Row> {
  rows: readonly Row[];
  /** What the rows are, in the plural. */
  what: string;
  /** How many are shown at first. */
  first?: number;
  /** Show all of them: for paper. */
  isWhole?: boolean;
}

const ROWS_FIRST = 200;

/** A table of the first rows, and a button for the others. */
export function LimitedTable<Row>({ rows, what, first = ROWS_FIRST, isWhole, ...table }: LimitedTableProps<Row>) {
  return (
    <Limited items={rows} first={first} what={what} isWhole={isWhole}>
      {(shown) => <Table {...table} rows={shown} />}
    </Limited>
  );
}

interface PagedTableProps<Body, Row, Query extends Params> extends RowsProps<Row> {
  request: ApiRequest<Body, Query>;
  rowsOf: (body: Body) => readonly Row[];
  what: string;
  /** What to show without any row. */
  empty: preact.ComponentChildren;
  /** A page may be empty and have a next one: so many are read by themselves. */
  automatic?: number;
  /** Another one asks again, while the rows stay. */
  version?: number;
}

/** A table of a list that comes in pages. */
export function PagedTable<Body, Row, Query extends Params>({ request, automatic, version = 0, ...table }: PagedTableProps<Body, Row, Query>) {
  const list = usePages(request, automatic);
  useEffect(() => {
    if (version > 0) list.first.retry();
  }, [version]);
  return <PagesTable list={list} {...table} />;
}

type PagesTableProps<Body, Row> = Omit<PagedTableProps<Body, Row, Params>, "request" | "automatic" | "version"> & { list: PagesState<Body> };

/** The same for a list that is read elsewhere. */
export function PagesTable<Body, Row>({ list, rowsOf, what, empty, ...table }: PagesTableProps<Body, Row>) {
  const rows = list.pages.flatMap(({ body }) => rowsOf(body));
  return (
    <Answered of={list.first} lines={4}>
      {() => (
        <>
          {rows.length === 0 && !list.hasMore ? empty : <Table {...table} rows={rows} />}
          <More list={list} what={what} />
        </>
      )}
    </Answered>
  );
}

/** A button for the next page of a list, and what went wrong with the last one. */
export function More({ list: { hasMore, more, isLoading, problem }, what }: { list: PagesState<unknown>; what: string }) {
  return (
    <>
      {problem && <ProblemBox problem={problem} retry={more} />}
      {hasMore && (
        <>
          <Button onClick={() => more?.()} disabled={isLoading}>
            More {what}
          </Button>
          <p class="only-in-print">There are more {what} than these.</p>
        </>
      )}
    </>
  );
}
