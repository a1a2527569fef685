"""Queries that share their reads: one reading of a window, bounded, forgotten if a content is missing."""

from __future__ import annotations

import pytest

from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read import shared_reads
from fll_hbase.store.results import CommitResult
from fll_hbase.tables import CellKey, Table, open_table

SOURCE, TARGET = Dataset("ns", "source"), Dataset("ns", "target")
WINDOW = Window(0, 10)
LATER_MS = 2**60
QUERY = WindowQuery(Direction.BACKWARD, TARGET, WINDOW)


def record(store: LineageStore, field: str) -> str:
    """Record the run `r` that copies a field, in place of what it recorded; return the checksum."""
    operations = [
        Read("read", "", SOURCE, "", (Field(field),)),
        Write("write", "", TARGET, "", (InputField("read", field),)),
    ]
    run = ProgramRun("ns", "app", "", "spark", "copy", "r", 5)
    (result,) = store.record([RecordedRun(run, lineage.build_lineage(operations))])
    assert isinstance(result, CommitResult)
    return result.checksum


def fields(store: LineageStore) -> set[str | None]:
    """The fields of the target, by a question."""
    (entry,) = store.lineage(TARGET, WINDOW, directions=[Direction.BACKWARD]).entries
    return {to for _, to in entry.relation.direct}


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


def test_queries_that_share_see_one_state(table: Table) -> None:
    store = LineageStore(table)
    record(store, "a")
    with shared_reads.shared():
        store.read_ahead([QUERY], [])
        record(store, "b")
        assert fields(store) == {"a"}
    assert fields(store) == {"b"}


def test_a_missing_content_is_read_anew(table: Table) -> None:
    store = LineageStore(table)
    first = record(store, "a")
    with shared_reads.shared():
        store.read_ahead([QUERY], [])
        record(store, "b")
        key = layout.content_row(first)
        table.delete([CellKey(key, column) for column in table.get(key)], until_ms=LATER_MS)
        # Another process, in which no content is cached.
        assert fields(LineageStore(table)) == {"b"}


def test_beyond_the_bound_queries_read_for_themselves(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "SHARED_MAX", 1)
    store = LineageStore(table)
    record(store, "a")
    with shared_reads.shared():
        store.read_ahead([QUERY], [])
        record(store, "b")
        assert fields(store) == {"b"}


def test_contexts_share_nothing_with_each_other(table: Table) -> None:
    store = LineageStore(table)
    record(store, "a")
    with shared_reads.shared():
        store.read_ahead([QUERY], [])
    record(store, "b")
    with shared_reads.shared():
        assert fields(store) == {"b"}
