"""Pages of the references that lead to the runs of a window."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from fll_hbase.keys import calendars, layout
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.batched_reads import Reads
from fll_hbase.tables import Row, Scan

PAGE_REFERENCES_MAX = 1000
"""Maximum number of references in a page."""

COLUMNS_MAX = 200
"""Maximum number of contents that a reference scan names. With more in a day, all its references are read."""


class Page(NamedTuple):
    """The next references of a day to read: keys from `start` to `stop` (excluded), at most `limit`."""

    start: bytes
    stop: bytes
    limit: int


def first_page(query: WindowQuery, day: int) -> Page:
    """Return the first page, of one reference, of a day's references within the window."""
    # The first reference usually confirms its content, so pages start at one row and double in size.
    bounds = query.window.overlap(calendars.day_window(day))
    return Page(*layout.window_range(query.direction, query.dataset, bounds), limit=1)


def read_page(
    query: WindowQuery, page: Page, wanted: Collection[str]
) -> Reads[tuple[list[bytes], Page | None]]:
    """Return tails of references in `reference_columns`, newest first, and the next page or None."""
    rows: list[tuple[bytes, Row]] = yield Scan(
        page.start, page.stop, reference_columns(wanted, query), page.limit
    )
    prefix = layout.reference_prefix(query.direction, query.dataset)
    tails = [key[len(prefix) :] for key, _ in rows]
    if len(rows) < page.limit:
        return tails, None
    return tails, next_page(page, rows[-1][0])


def next_page(page: Page, last: bytes) -> Page:
    """Return the page after one whose last key is `last`, with twice as many references."""
    # A zero byte gives the smallest key after the last one.
    return Page(last + b"\x00", page.stop, min(2 * page.limit, PAGE_REFERENCES_MAX))


def reference_columns(checksums: Collection[str], query: WindowQuery) -> list[bytes]:
    """Return the columns of references to these contents, or the family for over COLUMNS_MAX contents."""
    if len(checksums) > COLUMNS_MAX:
        return [layout.LIGHT]
    kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if query.window.failed else (layout.REFERENCE,)
    return [kind + checksum.encode() for checksum in checksums for kind in kinds]
