"""HBase engine: one table, accessed through HBase's Thrift gateways.

Every call is safe to repeat: a cell is either written once or a hint (docs/reference/row-keys.md). HBase
stamps the cells; a put is durable when the gateway answers, so `sync` makes no difference.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import closing
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import happybase
from happybase.table import TScan
from Hbase_thrift import BatchMutation, Mutation

from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable, TooLarge
from fll_hbase.runtime.threads import map_in_threads
from fll_hbase.tables import hbase_schema
from fll_hbase.tables.base import Batch, Cell, CellKey, Columns, Put, Row, Scan, StampedPut, Sync
from fll_hbase.tables.hbase_schema import Family
from fll_hbase.tables.hbase_url import HBaseUrl
from fll_hbase.tables.thrift_pool import STUCK_MAX, HBaseServerError, ThriftPool

PAGE_ROWS = 1_000

_Call: TypeAlias = tuple[str, Mapping[str, object]]
"""Name and arguments of a call in HBase's Thrift interface."""

# Bypass the Python-level constructor of a named tuple, because a scan has many cells.
_cell: Callable[[tuple[bytes, int]], Cell] = partial(tuple.__new__, Cell)

_log = logging.getLogger(__name__)

T = TypeVar("T")
C = TypeVar("C", bound=Sized)
P = ParamSpec("P")

KEYS_PER_CALL = 1_000
SCANS_PER_CALL = 32
"""Maximum number of scans that share their waits on one connection."""

SCAN_ATTEMPTS_MAX = 3
"""Maximum number of attempts, each with the full time of a call, if the gateway loses the call's scanners."""

CALL_BYTES, CALL_CELLS = 4 * 2**20, 10_000
"""Limits of one put call. A larger row is still one call, because readers see the puts of a row at once."""

ADMINISTRATION_SECONDS = 60.0


def read_pages(table: happybase.Table, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
    """Return the first `page_rows(scan)` rows of each scan, in order, with two waits for all scans.

    `columns` must be in the gateway's form, and no range empty, which HBase refuses. Pass few scans at a
    time, because all rows are in memory here and in the gateway. A gateway answers the calls of a connection
    one after another, so calls may be sent before earlier ones are answered. Replies are matched only by
    their order: after any error the connection must be dropped.
    """
    client = table.connection.client
    # The gateway opens a scanner at a region server only with its first rows, so this wait is short.
    scanner_ids = _pipeline(client, [_open_call(table.name, scan) for scan in scans])
    calls: list[_Call] = []
    for scanner_id, scan in zip(scanner_ids, scans, strict=True):
        calls.append(("scannerGetList", {"id": scanner_id, "nbRows": page_rows(scan)}))
        calls.append(("scannerClose", {"id": scanner_id}))
    return [[(item.row, to_row(item.columns)) for item in page] for page in _pipeline(client, calls)[::2]]


def page_rows(scan: Scan) -> int:
    """Return how many rows a full page of a scan has: its limit, at most PAGE_ROWS; the last has fewer."""
    return PAGE_ROWS if scan.limit is None else min(scan.limit, PAGE_ROWS)


def _open_call(table: bytes, scan: Scan) -> _Call:
    """Return the Thrift call that opens a scanner for a scan, with a cache as large as a page."""
    # With `caching` as large as the page, the gateway needs only one call to the region server for it.
    thrift_scan = TScan(
        startRow=scan.start, stopRow=scan.stop, columns=scan.columns or None, caching=page_rows(scan)
    )
    return "scannerOpenWithScan", {"tableName": table, "scan": thrift_scan, "attributes": {}}


def _pipeline(client: Any, calls: Iterable[_Call]) -> list[Any]:
    """Send all calls, then receive all replies. Raises the error of the first call that failed."""
    # Requests are short, and the replies to preceding requests are small or few. Neither end can block the
    # other, because the gateway can always read on while this end sends.
    calls = list(calls)
    for name, arguments in calls:
        client._send(name, **arguments)
    return [client._recv(name) for name, _ in calls]


def to_row(cells: Mapping[bytes, Any]) -> Row:
    """Return the cells that Thrift returned by column as a `Row`."""
    return {column: _cell((cell.value, cell.timestamp)) for column, cell in cells.items()}


class HbaseTable:
    """An HBase table. The first call checks that it exists, and that its families never lose cells.

    If that check fails, the call raises ConfigurationError, and the next call checks again.
    """

    def __init__(self, target: HBaseUrl, *, timeout_seconds: float, connections_max: int) -> None:
        self._name = target.table
        self._pool = ThriftPool(
            target.gateways, timeout_seconds=timeout_seconds, connections_max=connections_max
        )
        # A quarter of the connections, so that a query with many scans, or one batch, leaves some for others.
        # Below STUCK_MAX, so that one slow query does not look like a hanging gateway.
        self.parallel_calls = min(max(connections_max // 4, 1), STUCK_MAX - 1)
        self._checked = False

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return the cells of one row, as `Table.get`."""
        names = _thrift_columns(columns) or None
        return self._call(_get, row, names)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return rows by key, as `Table.rows`, with one call per KEYS_PER_CALL distinct keys."""
        names = _thrift_columns(columns) or None
        rows: dict[bytes, Row] = {}
        for chunk in _split(list(dict.fromkeys(keys)), KEYS_PER_CALL):
            rows |= self._call(_get_many, chunk, names)
        return rows

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Scan page by page. Each page is a separate scan, so no scanner on a gateway outlives a call."""
        remaining = sys.maxsize if limit is None else limit
        while remaining > 0 and start < stop:
            request = Scan(start, stop, columns, remaining)
            (page,) = self._first_pages([request])
            yield from page
            if len(page) < page_rows(request):
                return
            # The row after `key` is `key` with a zero byte, so pages neither overlap nor leave a gap.
            start = page[-1][0] + b"\x00"
            remaining -= len(page)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return all rows of each scan, in order, beginning SCANS_PER_CALL scans with each call."""
        calls = _split(scans, SCANS_PER_CALL)
        pages = map_in_threads(self._scan_each, calls, threads_max=self.parallel_calls)
        return [rows for page in pages for rows in page]

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return the region boundaries between the bounds, sorted; `parts` has no effect."""
        regions = self._call(happybase.Table.regions)
        return sorted(key for region in regions if start < (key := region["start_key"]) < stop)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        # Put one batch after another: a reader that sees a later batch must see all earlier ones.
        for batch in batches:
            for call_rows in _split_batch(batch):
                self._call(_put, call_rows)

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        """Put cells with their own timestamps, oldest first, with at least one call per timestamp."""
        # Thrift has one timestamp for all puts of a call.
        by_stamp: dict[int, list[Put]] = {}
        for row, column, value, stamp_ms in puts:
            by_stamp.setdefault(stamp_ms, []).append(Put(row, column, value))
        for stamp_ms, batch in sorted(by_stamp.items()):
            for call_rows in _split_batch(batch):
                self._call(_put, call_rows, stamp_ms)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Delete cells put at `until_ms` (ms since 1970) or earlier, in calls of whole rows."""
        for call_rows in split_deletes(cells):
            self._call(_delete, call_rows, until_ms)

    def close(self) -> None:
        """Close all idle connections."""
        self._pool.close()

    def _scan_each(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return the rows of each scan: first pages in one call, further pages of long scans one by one."""
        results = []
        for scan, page in zip(scans, self._first_pages(scans), strict=True):
            if page and len(page) == page_rows(scan):
                limit = None if scan.limit is None else scan.limit - len(page)
                page += self.scan(page[-1][0] + b"\x00", scan.stop, columns=scan.columns, limit=limit)
            results.append(page)
        return results

    def _first_pages(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Read the first page of each scan in one call: [], unsent, for an empty range or a limit of 0."""
        sent = {
            number: scan._replace(columns=_thrift_columns(scan.columns))
            for number, scan in enumerate(scans)
            if scan.start < scan.stop and scan.limit != 0
        }
        pages = self._read_pages(list(sent.values())) if sent else []
        by_number = dict(zip(sent, pages, strict=True))
        return [by_number.get(number, []) for number in range(len(scans))]

    def _read_pages(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Read first pages in one call, up to SCAN_ATTEMPTS_MAX times if the gateway loses scanners."""
        for _ in range(SCAN_ATTEMPTS_MAX - 1):
            try:
                return self._call(read_pages, scans)
            except StoreUnavailable as error:
                # An overloaded gateway may need longer than `hbase.client.scanner.timeout.period` for the
                # scanners opened in one call.
                if "scanner ID is invalid" not in str(error.__cause__):
                    raise
        return self._call(read_pages, scans)

    def _call(
        self, operation: Callable[Concatenate[happybase.Table, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Call `operation` on a pooled connection, first checking the table once.

        Raises TooLarge for a cell that HBase refuses, and StoreUnavailable for its other errors.
        """
        if not self._checked:
            self._check()
        try:
            return self._pool.run(
                lambda connection: operation(connection.table(self._name), *args, **options)
            )
        except HBaseServerError as error:
            raise translate_error(error, self._name) from error

    def _check(self) -> None:
        """Raise ConfigurationError, with the statement to run, if the table is missing or loses lineage."""
        fixes = hbase_schema.required_fixes(_describe_families(self._pool, self._name))
        if fixes:
            statement = hbase_schema.alter_statement(self._name, fixes)
            raise ConfigurationError(
                f"table {self._name!r} would lose lineage; run this in the HBase shell: {statement}"
            )
        # Check once per process, at the first call, because a server may start while HBase is down.
        self._checked = True


def _describe_families(pool: ThriftPool, name: str) -> dict[str, Family]:
    """Return the column families of a table by name. Raises ConfigurationError if the table is absent."""
    try:
        families = pool.run(lambda connection: connection.table(name).families())
    except HBaseServerError as error:
        # Thrift passes the Java exception only as text.
        if "TableNotFoundException" in str(error):
            raise ConfigurationError(
                f"HBase has no table {name!r}; create it with `fll table create`"
            ) from error
        raise translate_error(error, name) from error
    return {
        family.decode(): Family(
            name=family.decode(),
            versions=descriptor["max_versions"],
            ttl_seconds=descriptor["time_to_live"],
            bloom_filter=descriptor["bloom_filter_type"].decode(),
            block_cache=descriptor["block_cache_enabled"],
            compression=descriptor["compression"].decode(),
        )
        for family, descriptor in families.items()
    }


def describe(target: HBaseUrl) -> dict[str, Family]:
    """Return the column families. Raises StoreUnavailable, and ConfigurationError if the table is absent."""
    with closing(_admin_pool(target)) as pool:
        return _describe_families(pool, target.table)


def create(target: HBaseUrl, *, compression: str) -> bool:
    """Create a table and return True, or False if it exists. Raises ConfigurationError, StoreUnavailable.

    The table has one region and no block encoding, because Thrift gateways cannot set either.
    """
    options = {
        "max_versions": 1,
        "compression": compression,
        "bloom_filter_type": "ROW",
        "block_cache_enabled": True,
        "time_to_live": hbase_schema.FOREVER_SECONDS,
    }
    families = dict.fromkeys(hbase_schema.FAMILIES, options)
    with closing(_admin_pool(target)) as pool:
        try:
            pool.run(lambda connection: connection.create_table(target.table, families))
        except HBaseServerError as error:
            if "already in use" in str(error) or "TableExistsException" in str(error):
                return False
            raise ConfigurationError(f"HBase refuses to create table {target.table!r}: {error}") from error
    return True


def _admin_pool(target: HBaseUrl) -> ThriftPool:
    """Return a pool of one connection, with the longer timeout of administrative calls."""
    return ThriftPool(target.gateways, timeout_seconds=ADMINISTRATION_SECONDS, connections_max=1)


def _thrift_columns(columns: Columns) -> list[bytes]:
    """Convert columns to what a Thrift gateway expects.

    A family is sent without its `:`, because with it the gateway selects the column with an empty qualifier.
    Columns of a requested family are dropped, because otherwise the gateway would return only those columns.
    """
    families = {column[:-1] for column in columns if column.find(b":") == len(column) - 1}
    qualified = [column for column in columns if column.partition(b":")[0] not in families]
    return [*families, *qualified]


# The hot paths call Thrift directly, because happybase's own functions convert each cell once more.


def _get(table: happybase.Table, row: bytes, columns: Sequence[bytes] | None) -> Row:
    """Return the cells of one row, {} if it has none; `columns` are in the gateway's form, None for all."""
    rows = table.connection.client.getRowWithColumns(table.name, row, columns, {})
    return to_row(rows[0].columns) if rows else {}


def _get_many(
    table: happybase.Table, keys: Sequence[bytes], columns: Sequence[bytes] | None
) -> dict[bytes, Row]:
    """Return the existing rows by key; `columns` are in the gateway's form, or None for all."""
    rows = table.connection.client.getRowsWithColumns(table.name, keys, columns, {})
    return {row.row: to_row(row.columns) for row in rows}


def _put(
    table: happybase.Table, rows: Mapping[bytes, Mapping[bytes, bytes]], stamp_ms: int | None = None
) -> None:
    """Put cells, given by row and column, in one call; stamped with `stamp_ms`, or by region servers."""
    mutations = [
        BatchMutation(row, [Mutation(False, column, value) for column, value in cells.items()])
        for row, cells in rows.items()
    ]
    if stamp_ms is None:
        table.connection.client.mutateRows(table.name, mutations, {})
    else:
        table.connection.client.mutateRowsTs(table.name, mutations, stamp_ms, {})


def _delete(table: happybase.Table, rows: Mapping[bytes, Sequence[bytes]], until_ms: int) -> None:
    """Delete columns, given by row, that were put at `until_ms` or earlier, in one batch of happybase."""
    with table.batch(timestamp=until_ms, transaction=True) as batch:
        for row, columns in rows.items():
            batch.delete(row, columns)


def _split(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in consecutive slices of `size`; the last may be shorter. [] without items."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


def split_deletes(cells: Sequence[CellKey]) -> Iterator[dict[bytes, list[bytes]]]:
    """Split cells into calls of whole rows, within CALL_CELLS unless a single row has more."""
    rows: dict[bytes, list[bytes]] = {}
    for row, column in cells:
        rows.setdefault(row, []).append(column)
    # A job interrupted between two calls must not leave half a content, which cannot be read or collected.
    yield from _split_rows(rows, lambda _, columns: 0)


def _split_batch(batch: Batch) -> Iterator[dict[bytes, dict[bytes, bytes]]]:
    """Split a batch into calls: the last put of each cell, whole rows, within CALL_BYTES and CALL_CELLS."""
    rows: dict[bytes, dict[bytes, bytes]] = {}
    for row, column, value in batch:
        cells = rows.get(row)
        if cells is None:
            rows[row] = {column: value}
        else:
            cells[column] = value
    # A row is never split across calls, so its puts become visible together.
    yield from _split_rows(
        rows, lambda row, cells: sum(len(row) + len(column) + len(value) for column, value in cells.items())
    )


def _split_rows(rows: Mapping[bytes, C], size_of: Callable[[bytes, C], int]) -> Iterator[dict[bytes, C]]:
    """Split rows into calls within CALL_CELLS and CALL_BYTES (`size_of` a row); a larger row is one call."""
    call_rows: dict[bytes, C] = {}
    size_bytes = cells_count = 0
    for row, cells in rows.items():
        row_bytes = size_of(row, cells)
        if call_rows and (size_bytes + row_bytes > CALL_BYTES or cells_count + len(cells) > CALL_CELLS):
            yield call_rows
            call_rows, size_bytes, cells_count = {}, 0, 0
        call_rows[row] = cells
        size_bytes += row_bytes
        cells_count += len(cells)
    if call_rows:
        yield call_rows


def translate_error(error: HBaseServerError, name: str) -> TooLarge | StoreUnavailable:
    """Return TooLarge for a cell that HBase refuses; log any other exception and return StoreUnavailable."""
    # The text names Java classes, hosts and paths, and these errors are answers to API clients.
    if "KeyValue size too large" in str(error):
        return TooLarge("a cell is larger than HBase accepts; see hbase.client.keyvalue.maxsize")
    _log.warning("table %s: %s", name, error)
    return StoreUnavailable(f"HBase does not serve table {name!r}; try again, and see the log for its reason")
