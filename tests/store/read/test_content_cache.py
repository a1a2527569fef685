"""A question about one field costs a number of table calls that does not follow its contents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.datasets import DatasetField, Field
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read import content_cache
from fll_hbase.store.read.content_cache import FIRST_OPERATIONS, LOAD_MAX, FieldOfContent
from fll_hbase.store.read.run_times import PAGE_REFERENCES_MAX
from fll_hbase.tables import Put, Table, open_table
from tests.support.sealing import seal_all
from tests.support.table_calls import NOON_MS, START, WINDOW, CountingTable, end, record, stopped_clock

FIELD = DatasetField(end(0), "x")


def version(number: int) -> RecordedRun:
    """A run that derives the field by operations which no other run has, beside one that it does not need."""
    operations = [
        Read("read", "", START, "", (Field("x"),)),
        Transform(f"v{number}", "", (InputField("read", "x"),), (Field("x"),)),
        Transform("other", "", (InputField("read", "x"),), (Field("y"),)),
        Write("write", "", end(0), "", (InputField(f"v{number}", "x"),)),
    ]
    run = ProgramRun("ns", "app", "", "spark", "copy", f"run {number:05}", NOON_MS + number)
    return RecordedRun(run, lineage.build_lineage(operations))


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


def calls_of_loads(size: int) -> int:
    """The calls that read this many contents, two for each batch."""
    calls, batch = 0, FIRST_OPERATIONS
    while size > 0:
        calls, size, batch = calls + 2, size - batch, min(2 * batch, LOAD_MAX)
    return calls


def calls_of_times(size: int, *, is_sealed: bool) -> int:
    """The calls that say which of this many contents ran, and when.

    Twice those of horizon, ways in one or two pages, and calendars; of a day that is not sealed, too,
    references in pages that double, with their run rows.
    """
    return 8 if is_sealed else 8 + 4 * size.bit_length()


def calls_of_runs(size: int) -> int:
    """The calls that list this many runs of one day: ways, and references in pages, with their run rows."""
    return 8 + 2 * (size // PAGE_REFERENCES_MAX + 1)


@pytest.mark.slow
@pytest.mark.parametrize("simple", [False, True])
@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("size", [10, 1_000])
def test_operations_are_read_in_batches(table: Table, size: int, simple: bool, is_sealed: bool) -> None:
    record(table, [version(number) for number in range(size)])
    assert not is_sealed or seal_all(table) == size
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    store.lineage(FIELD.dataset, WINDOW)
    counting.calls.clear()
    result = store.field_lineage(FIELD, WINDOW, simple=simple)
    assert len(result.checksums) == size
    assert len(result.graph.operations) == 1 + 2 * size
    assert not result.truncated_by
    assert counting.calls["get"] == counting.calls["scan"] == 0
    assert counting.calls.total() <= calls_of_loads(size) + calls_of_times(size, is_sealed=is_sealed)
    counting.calls.clear()
    assert store.field_lineage(FIELD, WINDOW, simple=simple) == result
    assert counting.calls.total() <= calls_of_times(size, is_sealed=is_sealed), "operations are cached"


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 1_000])
def test_derivations_are_read_in_batches(table: Table, size: int) -> None:
    record(table, [version(number) for number in range(size)])
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    result = store.field_derivations(FIELD, WINDOW)
    assert [tuple(run.run for run in listed.runs) for listed in result.derivations] == [
        (f"run {number:05}",) for number in reversed(range(size))
    ]
    assert [operation.name for operation in result.derivations[0].operations] == [
        "read",
        f"v{size - 1}",
        "write",
    ]
    assert not result.truncated_by
    # A batch of contents costs two calls for the operations of the field, one for all, and field maps.
    assert counting.calls.total() <= calls_of_loads(size) * 5 // 2 + calls_of_runs(size)
    counting.calls.clear()
    assert store.field_derivations(FIELD, WINDOW) == result
    assert counting.calls.total() <= calls_of_runs(size), "operations are cached"


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 1_000])
def test_contents_of_listed_runs_are_read_once_and_in_batches(table: Table, size: int) -> None:
    """Half of the runs have a content of their own, the others share one."""
    half = size // 2
    shared = [
        replace(version(0), run=replace(version(0).run, run=f"shared {number:05}")) for number in range(half)
    ]
    record(table, [version(number) for number in range(half)] + shared)
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    page = store.runs(FIELD.dataset, WINDOW, limit=size)
    counting.calls.clear()
    counting.items.clear()
    details = store.run_details(page)
    assert len(details) == 2 * half
    assert {run.committed.run.run: content.operations for run, content in details} == {
        recorded.run.run: recorded.info.operations
        for recorded in [*(version(number) for number in range(half)), *shared]
    }
    assert counting.calls.total() <= calls_of_loads(half) + 4
    # The row of each run, and of each content its operations and its field map.
    assert counting.items.total() <= 2 * half + 2 * half


@pytest.mark.slow
def test_operations_beyond_the_bound_are_not_read(table: Table) -> None:
    """The newest contents are merged first; those that have no room are not even read."""
    size, most = 1_000, 20
    record(table, [version(number) for number in range(size)])
    store = LineageStore(CountingTable(table), Settings(connections_max=most))
    result = store.field_lineage(FIELD, WINDOW)
    assert result.truncated_by == (f"connections_max={most}",)
    assert len(result.checksums) == size
    newest = {f"v{number}" for number in range(size - most, size)}
    assert {name for name in result.graph.operations if name.startswith("v")} == newest
    cached = [key for _, key in store._contents._cache if key[0] == "operations"]
    assert FIRST_OPERATIONS <= len(cached) <= FIRST_OPERATIONS * 3


def test_large_operations_are_read_one_by_one(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is no larger than the size that a call aims at, which one content may exceed."""
    monkeypatch.setattr(content_cache, "LOAD_BYTES", 1)
    record(table, [version(number) for number in range(FIRST_OPERATIONS + 5)])
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    contents = [FieldOfContent(checksum, FIELD) for checksum in store.field_lineage(FIELD, WINDOW).checksums]
    store = LineageStore(counting)
    counting.calls.clear()
    operations = list(store._contents.iter_operations(contents, Direction.BACKWARD))
    assert [len(listed) for listed in operations] == [3] * len(contents)
    # Two for the first batch, and for each content alone one for its columns and one for its operations.
    assert counting.calls.total() == 2 + 2 * 5


def test_names_of_one_dataset_are_read_in_one_batch(table: Table) -> None:
    other = DatasetField(end(1), "x")
    runs = [version(number) for number in range(4)]
    operations = [
        Read("read", "", START, "", (Field("x"),)),
        Write("write", "", other.dataset, "", (InputField("read", "x"),)),
    ]
    run = ProgramRun("ns", "app", "", "spark", "copy", "last", NOON_MS + 99)
    record(table, [*runs, RecordedRun(run, lineage.build_lineage(operations))])
    names = (FIELD.dataset, other.dataset), (other.dataset, FIELD.dataset)
    table.write([[Put(layout.alias_row(name), layout.alias_column(alias), b"") for name, alias in names]])
    for field in (FIELD, other):
        result = LineageStore(table).field_lineage(field, WINDOW)
        assert len(result.checksums) == 5
        assert {node.destinations for node in result.graph.nodes.values() if node.destinations} == {
            frozenset([FIELD.dataset]),
            frozenset([other.dataset]),
        }
        assert result.checksums[0] == lineage.build_lineage(operations).checksum
