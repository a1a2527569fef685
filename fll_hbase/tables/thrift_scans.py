"""First pages of scans over one Thrift connection, with two waits for any number of scans.

A gateway answers the calls of a connection one after the other, so calls may be sent before earlier ones are
answered. The replies are numbered by their order only: after any error the connection must be dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import happybase
from happybase.table import TScan

from fll_hbase.tables.base import Cell, Row, Scan

PAGE_ROWS = 1_000

_Call: TypeAlias = tuple[str, Mapping[str, object]]
"""Name and arguments of a call in HBase's Thrift interface."""


def read_pages(table: happybase.Table, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
    """Return the first rows of each scan: PAGE_ROWS, or its limit if that is less.

    `columns` are in the form of the gateway. Few scans at a time: all rows are in memory, here and there.
    """
    client = table.connection.client
    # The gateway opens a scanner at a region server with its first rows, so this wait is short.
    scanner_ids = _pipeline(client, [_open_call(table.name, scan) for scan in scans])
    calls: list[_Call] = []
    for scanner_id, scan in zip(scanner_ids, scans, strict=True):
        calls.append(("scannerGetList", {"id": scanner_id, "nbRows": page_rows(scan)}))
        calls.append(("scannerClose", {"id": scanner_id}))
    return [[(item.row, to_row(item.columns)) for item in page] for page in _pipeline(client, calls)[::2]]


def is_lost_scanner(error: BaseException | None) -> bool:
    """Return whether a call failed since its scanner was not used for `hbase.client.scanner.timeout.period`.

    An overloaded gateway may take longer than that for the scanners that are opened in one call.
    """
    return error is not None and "scanner ID is invalid" in str(error)


def page_rows(scan: Scan) -> int:
    """Return the size of a page; a page with fewer rows is the last one."""
    return PAGE_ROWS if scan.limit is None else min(scan.limit, PAGE_ROWS)


def _open_call(table: bytes, scan: Scan) -> _Call:
    # `caching` as large as the page: the gateway then needs one call to the region server for it.
    thrift_scan = TScan(
        startRow=scan.start, stopRow=scan.stop, columns=scan.columns or None, caching=page_rows(scan)
    )
    return "scannerOpenWithScan", {"tableName": table, "scan": thrift_scan, "attributes": {}}


def _pipeline(client: Any, calls: Iterable[_Call]) -> list[Any]:
    """Send all calls, then receive all replies. Raises the error of the first call that failed."""
    # Requests are short and replies of what precedes them small or few, so neither end blocks the other: the
    # gateway can always read on while this end still sends.
    calls = list(calls)
    for name, arguments in calls:
        client._send(name, **arguments)
    return [client._recv(name) for name, _ in calls]


def to_row(cells: Mapping[bytes, Any]) -> Row:
    """Return cells of Thrift as a row."""
    return {column: Cell(cell.value, cell.timestamp) for column, cell in cells.items()}
