"""The production engine: one HBase table, asked through HBase's Thrift gateways.

Every call is safe to repeat, because cells are either written once or hints: docs/row-keys.md. HBase stamps
the cells; a put is durable when it is answered, so that `sync` makes no difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar

import happybase

from fll_hbase.errors import ConfigurationError, StoreUnavailable, TooLarge
from fll_hbase.tables import hbase_schema
from fll_hbase.tables.base import Batch, Cell, CellKey, Columns, Row, Sync
from fll_hbase.tables.hbase_schema import Family
from fll_hbase.tables.hbase_url import Place
from fll_hbase.tables.thrift_pool import Gateways, JavaError

T = TypeVar("T")
P = ParamSpec("P")

KEYS_A_CALL, PAGE_ROWS = 1_000, 1_000
CALL_BYTES, CALL_CELLS = 4 * 2**20, 10_000
"""How much one call puts, unless a single row is larger: puts of a row are seen whole."""

ADMINISTRATION_SECONDS = 60.0


class HbaseTable:
    """A table of HBase. The first call finds out whether it is there and keeps what is put into it.

    Raises ConfigurationError from any call where it is not or does not.
    """

    def __init__(self, place: Place, *, timeout_seconds: float, connections_max: int) -> None:
        self._name = place.table
        self._gateways = Gateways(
            place.gateways, timeout_seconds=timeout_seconds, connections_max=connections_max
        )
        self._checked = False

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        asked = _asked(columns)
        return _row(self._call(happybase.Table.row, row, columns=asked, include_timestamp=True))

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        asked = _asked(columns)
        found: dict[bytes, Row] = {}
        distinct = iter(dict.fromkeys(keys))
        while some := list(islice(distinct, KEYS_A_CALL)):
            told = self._call(happybase.Table.rows, some, columns=asked, include_timestamp=True)
            found.update((key, _row(cells)) for key, cells in told)
        return found

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Page by page, each a scan of its own: no scanner of a gateway outlives a call."""
        asked = _asked(columns)
        left = sys.maxsize if limit is None else limit
        while left > 0 and start < stop:
            rows_asked = min(left, PAGE_ROWS)
            page = self._call(_page, start, stop, columns=asked, most=rows_asked)
            for key, cells in page:
                yield key, _row(cells)
            if len(page) < rows_asked:
                return
            start = page[-1][0] + b"\x00"
            left -= rows_asked

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Where regions begin, whatever `parts` says: a region is read best by one."""
        regions = self._call(happybase.Table.regions)
        return sorted(key for region in regions if start < (key := region["start_key"]) < stop)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            for part in _parts(batch):
                self._call(_put, part)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        for begin in range(0, len(cells), CALL_CELLS):
            rows: dict[bytes, list[bytes]] = {}
            for row, column in cells[begin : begin + CALL_CELLS]:
                rows.setdefault(row, []).append(column)
            self._call(_remove, rows, until_ms)

    def close(self) -> None:
        self._gateways.close()

    def _call(
        self, act: Callable[Concatenate[happybase.Table, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        if not self._checked:
            self._check()
        try:
            return self._gateways.call(lambda connection: act(connection.table(self._name), *args, **options))
        except JavaError as error:
            raise _meant(error, self._name) from error

    def _check(self) -> None:
        wrong = hbase_schema.mending(_described(self._gateways, self._name))
        if wrong:
            statement = hbase_schema.alter_statement(self._name, wrong)
            raise ConfigurationError(
                f"table {self._name!r} would lose lineage; mend it in the HBase shell: {statement}"
            )
        self._checked = True


def _described(gateways: Gateways, name: str) -> dict[str, Family]:
    try:
        told = gateways.call(lambda connection: connection.table(name).families())
    except JavaError as error:
        if "TableNotFoundException" in str(error):
            raise ConfigurationError(f"HBase has no table {name!r}; `fll table create` makes it") from error
        raise _meant(error, name) from error
    return {
        family.decode(): Family(
            name=family.decode(),
            versions=said["max_versions"],
            ttl_seconds=said["time_to_live"],
            bloom_filter=said["bloom_filter_type"].decode(),
            block_cache=said["block_cache_enabled"],
            compression=said["compression"].decode(),
        )
        for family, said in told.items()
    }


def describe(place: Place) -> dict[str, Family]:
    """The families of a table. Raises ConfigurationError where it is not there, StoreUnavailable."""
    with closing(_administration(place)) as gateways:
        return _described(gateways, place.table)


def create(place: Place, *, compression: str) -> bool:
    """Make a table in one region, without encoding: gateways know neither. False where it was there.

    Raises ConfigurationError, StoreUnavailable.
    """
    options = {
        "max_versions": 1,
        "compression": compression,
        "bloom_filter_type": "ROW",
        "block_cache_enabled": True,
        "time_to_live": hbase_schema.FOREVER_SECONDS,
    }
    families = dict.fromkeys(hbase_schema.FAMILIES, options)
    with closing(_administration(place)) as gateways:
        try:
            gateways.call(lambda connection: connection.create_table(place.table, families))
        except JavaError as error:
            if "already in use" in str(error) or "TableExistsException" in str(error):
                return False
            raise ConfigurationError(f"HBase does not make table {place.table!r}: {error}") from error
    return True


def _administration(place: Place) -> Gateways:
    return Gateways(place.gateways, timeout_seconds=ADMINISTRATION_SECONDS, connections_max=1)


def _asked(columns: Columns) -> list[bytes] | None:
    """Columns as a gateway takes them.

    A family goes without its `:`, else the column without a qualifier is meant; and of a family and one of
    its columns the gateway would heed the column alone.
    """
    families = {column[:-1] for column in columns if column.find(b":") == len(column) - 1}
    named = [column for column in columns if column.partition(b":")[0] not in families]
    return [*families, *named] or None


def _row(cells: Mapping[bytes, tuple[bytes, int]]) -> Row:
    return {column: Cell(*said) for column, said in cells.items()}


def _page(
    table: happybase.Table, start: bytes, stop: bytes, *, columns: list[bytes] | None, most: int
) -> list[tuple[bytes, dict[bytes, tuple[bytes, int]]]]:
    found = table.scan(
        row_start=start,
        row_stop=stop,
        columns=columns,
        include_timestamp=True,
        batch_size=most,
        limit=most,
    )
    with closing(found):
        return list(found)


def _put(table: happybase.Table, rows: Mapping[bytes, Mapping[bytes, bytes]]) -> None:
    with table.batch(transaction=True) as batch:
        for row, cells in rows.items():
            batch.put(row, cells)


def _remove(table: happybase.Table, rows: Mapping[bytes, Sequence[bytes]], until_ms: int) -> None:
    with table.batch(timestamp=until_ms, transaction=True) as batch:
        for row, columns in rows.items():
            batch.delete(row, columns)


def _parts(batch: Batch) -> Iterator[dict[bytes, dict[bytes, bytes]]]:
    """The last put of each cell, whole rows at a time, as much as one call takes."""
    rows: dict[bytes, dict[bytes, bytes]] = {}
    for row, column, value in batch:
        cells = rows.get(row)
        if cells is None:
            rows[row] = {column: value}
        else:
            cells[column] = value
    part: dict[bytes, dict[bytes, bytes]] = {}
    size_bytes = cells_count = 0
    for row, cells in rows.items():
        row_bytes = sum(len(row) + len(column) + len(value) for column, value in cells.items())
        if part and (size_bytes + row_bytes > CALL_BYTES or cells_count + len(cells) > CALL_CELLS):
            yield part
            part, size_bytes, cells_count = {}, 0, 0
        part[row] = cells
        size_bytes += row_bytes
        cells_count += len(cells)
    if part:
        yield part


def _meant(error: JavaError, name: str) -> TooLarge | StoreUnavailable:
    """What HBase's exception comes to for whoever asked."""
    if "KeyValue size too large" in str(error):
        return TooLarge(f"a cell is larger than HBase takes ({error}); see hbase.client.keyvalue.maxsize")
    return StoreUnavailable(f"HBase does not serve table {name!r}: {error}; try again")
