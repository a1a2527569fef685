"""Which engine is it: a store URL to an open table."""

from __future__ import annotations

from fll_hbase.errors import BadSetting
from fll_hbase.tables.base import Table
from fll_hbase.tables.sqlite import SqliteTable

FORMS = "sqlite:///path/to/file.db or sqlite:///:memory:"


def open_table(url: str) -> Table:
    """The table behind a store URL. Raises BadSetting for any other URL, StoreAway if it will not open."""
    scheme, separator, rest = url.partition(":///")
    if scheme == "sqlite" and separator and rest:
        return SqliteTable(rest)
    raise BadSetting(f"store URL {url!r} names no engine; it looks like {FORMS}")
