"""Runs that cannot be stored, and rows that cannot be read, are reported one by one."""

from __future__ import annotations

import pytest

from fll_hbase.keys import calendars, layout
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.runs import RecordedRun, RunKey
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime.errors import ChecksumConflict, CorruptRow, TooLarge
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.tables import Put, Table, open_table
from tests.support.copy_runs import DAY, DESTINATION, copying


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


@pytest.mark.parametrize(
    "oversized",
    [copying("r" * 40_000), copying("long", application="a" * 9_000_000)],
    ids=["run", "application"],
)
def test_a_run_that_no_row_holds_is_refused_alone(table: Table, oversized: RecordedRun) -> None:
    store = LineageStore(table)
    first, refused, last = store.record([copying("one"), oversized, copying("two")])
    assert isinstance(first, CommitResult)
    assert isinstance(refused, TooLarge)
    assert isinstance(last, CommitResult)
    listed = store.runs(DESTINATION, DAY, limit=10).runs
    assert {run.run.run for run in listed} == {"one", "two"}


def test_two_contents_under_one_checksum_are_never_merged(table: Table) -> None:
    run = copying("one")
    row = layout.content_row(run.info.checksum)
    table.write([[Put(row, layout.operation_column("read"), b'{"another": "content"}')]])
    rows_before = list(table.scan(b"", b"\x7f"))
    (answer,) = LineageStore(table).record([run])
    assert isinstance(answer, ChecksumConflict)
    assert list(table.scan(b"", b"\x7f")) == rows_before


def test_a_content_that_cannot_be_read_fails_its_runs_alone(table: Table) -> None:
    store = LineageStore(table)
    damaged = copying("one")
    store.record([damaged, copying("two", field="g")])
    table.write([[Put(layout.content_row(damaged.info.checksum), layout.SOURCES, b"damaged")]])
    ((run, error),) = store.components.committer.recommit([RunKey("one", "ns"), RunKey("two", "ns")]).items()
    assert run == RunKey("one", "ns")
    assert isinstance(error, CorruptRow)


def test_a_missing_content_row_is_reported(table: Table) -> None:
    run = copying("one")
    LineageStore(table).record([run])
    without_content = open_table("sqlite:///:memory:")
    for key, row in table.scan(b"", b"\x7f"):
        if key != layout.content_row(run.info.checksum):
            without_content.write([[Put(key, column, cell.value) for column, cell in row.items()]])
    with pytest.raises(CorruptRow, match=run.info.checksum):
        LineageStore(without_content).lineage(DESTINATION, DAY)


@pytest.mark.parametrize("tail", [b"|nonsense", b"|" + b"\xff" * 32, b"|" + b"G" * 32])
def test_a_malformed_way_is_reported(table: Table, tail: bytes) -> None:
    store = LineageStore(table)
    store.record([copying("one")])
    key = calendars.ways_prefix(Direction.BACKWARD, DESTINATION) + calendars.inverted_period(0) + tail
    table.write([[Put(key, calendars.WAY, b"")]])
    with pytest.raises(CorruptRow):
        store.lineage(DESTINATION, Window(0, 5 * DAY_MS))


def test_a_replaced_run_hides_no_other_run_of_its_day(table: Table) -> None:
    """A run of a content moved to another content; another run of the day still has the first."""
    store = LineageStore(table)
    unchanged, moved = copying("unchanged", start_ms=5), copying("moved", start_ms=6)
    store.record([unchanged])
    store.record([moved])
    store.record([copying("moved", start_ms=6, field="g")])
    answer = store.field_lineage(DatasetField(DESTINATION, "f"), DAY)
    assert answer.checksums == (unchanged.info.checksum,)
    newest = store.lineage(DESTINATION, Window(6, 7), directions=[Direction.BACKWARD])
    assert {pair for entry in newest.entries for pair in entry.relation.direct} == {("g", "g")}
