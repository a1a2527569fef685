"""Ways are put once in half the grace period, and the mark of a table once, also after it was emptied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.runs import RunKey
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import CellKey, Put, Row, Table, open_table
from fll_hbase.tables.base import Columns
from tests.support.copy_runs import DAY, DESTINATION, copying
from tests.support.passing_table import Through

EVER_MS = 2**62


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


def delete(table: Table, prefix: bytes = b"") -> None:
    cells = [CellKey(key, column) for key, row in table.scan(prefix, prefix + b"\xff") for column in row]
    table.delete(cells, until_ms=EVER_MS)


def ways(table: Table) -> list[bytes]:
    return [key for key, _ in table.scan(*ranges.prefix_range(layout.WAYS))]


def test_ways_are_put_once_for_runs_of_one_content_and_period(table: Table) -> None:
    store = LineageStore(table)
    store.record([copying("one")])
    first_ways = ways(table)
    assert len(first_ways) == 2
    delete(table, layout.WAYS)
    store.record([copying("two")])
    assert ways(table) == [], "they were put a moment ago"
    LineageStore(table).record([copying("three")])
    assert ways(table) == first_ways, "another process does not rely on them"


def test_a_table_that_is_emptied_under_a_writer_is_complete_again(table: Table) -> None:
    store = LineageStore(table)
    store.record([copying("one")])
    delete(table)
    store.record([copying("two")])
    calendar_mark.require(table)
    assert len(ways(table)) == 2
    assert [run.run.run for run in LineageStore(table).runs(DESTINATION, DAY, limit=9).runs] == ["two"]
    assert LineageStore(table).lineage(DESTINATION, DAY).entries


def test_a_writer_marks_no_table_of_an_earlier_release(table: Table) -> None:
    LineageStore(table).record([copying("one")])
    delete(table, layout.PROPERTIES)
    store = LineageStore(table)
    for name in ("two", "three"):
        store.record([copying(name)])
        store.components.committer.recommit([RunKey(name, "ns")])
        with pytest.raises(ConfigurationError, match="fll store migrate"):
            calendar_mark.require(table)


class _FirstWriter(Through):
    """A table whose first writer puts the mark and a reference when somebody looks for references."""

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        calendar_mark.mark_complete(self._table)
        self._table.write([[Put(b"b|ns|name|0|run", layout.REFERENCE + b"0" * 32, b"")]])
        return super().scan(start, stop, columns=columns, limit=limit)


def test_a_table_may_get_its_first_run_while_it_is_opened(table: Table) -> None:
    calendar_mark.require(_FirstWriter(table))  # type: ignore[arg-type]
    assert table.get(calendars.MARK_ROW)
