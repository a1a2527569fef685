"""Are the rows of all parts, read in this process, what the store says, however they are bounded?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from fll_hbase.spark.datasource.worker_store import build_worker_store
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringContains,
)
from strategies import FEW_END_POINTS, chain, infos, names, program_runs

from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError, CorruptRow, InvalidQuery
from fll_hbase.keys import layout
from fll_hbase.model import field_relations, lineage
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import DatasetLineage
from fll_hbase.model.operations import Influence
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.spark.datasource import partitions, rows, schemas
from fll_hbase.spark.datasource.options import (
    ALWAYS,
    DatasetFilter,
    ReadRequest,
    ScanBounds,
    TableName,
    parse_options,
)
from fll_hbase.spark.datasource.pushdown import push_down
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Cell, CellKey, Put, Row, Table, open_table
from fll_hbase.tables.sqlite import SqliteTable

FEW_STARTS = (0, 1, 999, 1_000, 86_400_000, schemas.LAST_MS, schemas.LAST_MS + 1, START_LIMIT_MS - 1)
few_starts = st.sampled_from(FEW_STARTS)
histories = st.lists(
    st.builds(
        lambda run, info, start_ms: RecordedRun(replace(run, start_ms=start_ms), info),
        program_runs,
        infos(transforms_max=2),
        few_starts,
    ),
    min_size=1,
    max_size=5,
)
among = st.sampled_from(
    [DatasetFilter(), *(DatasetFilter(end.namespace) for end in FEW_END_POINTS)]
) | st.sampled_from(FEW_END_POINTS).map(lambda end: DatasetFilter(end.namespace, end.name))
windows = st.just(ALWAYS) | st.tuples(few_starts, few_starts).map(lambda ends: Window(min(ends), max(ends)))
all_bounds = st.builds(ScanBounds, windows, among, among, among)


def recorded(history: Sequence[RecordedRun]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    return table


def read(
    table: Table, name: TableName, bounds: ScanBounds = ScanBounds(), *, parts: int = 3
) -> list[schemas.Row]:  # noqa: B008
    """The rows of all parts."""
    wanted = ReadRequest(Settings(), name, bounds, parts)
    held = build_worker_store(table, wanted.settings)
    return [
        row
        for part in partitions.plan_partitions(wanted, table)
        for row in rows.read_rows(held, wanted, part)
    ]


def told(relation: DatasetLineage) -> Iterator[tuple[str | None, ...]]:
    """A relation as the last columns of edges."""
    source, destination = (
        (end.namespace, end.name) if end else (None, None) for end in (relation.source, relation.destination)
    )
    for pairs, influence in ((relation.direct, Influence.DIRECT), (relation.indirect, Influence.INDIRECT)):
        for start, end in pairs:
            yield *source, start, *destination, end, influence.value
    for start in relation.dataset_wide:
        yield *source, start, *destination, None, "indirect"
    if relation.unknown:
        yield *source, None, *destination, None, None


def edges_of(run: RecordedRun) -> set[schemas.Row]:
    """What relations say of a run, as rows."""
    head = run.run.run, *schemas.start_columns(run.run.start_ms), run.info.checksum
    found = set()
    for end_point in FEW_END_POINTS:
        for backward in (True, False):
            said = field_relations.dataset_relations(
                run.info.field_map, end_point, backward=backward, pairs_max=10**9
            )
            found |= {(*head, *ends) for one in said.by_datasets.values() for ends in told(one)}
    return found


def latest(history: Sequence[RecordedRun]) -> dict[str, RecordedRun]:
    return {run.run.run: run for run in history}


def once(found: list[schemas.Row]) -> set[schemas.Row]:
    assert [row for row, count in Counter(found).items() if count > 1] == []
    return set(found)


def admitted(row: schemas.Row, bounds: ScanBounds) -> bool:
    """Whether a row of edges is one that was asked for."""
    source = Dataset(row[4], row[5]) if row[4] else None
    destination = Dataset(row[7], row[8]) if row[7] else None
    return (
        row[2] in bounds.window
        and bounds.sources.matches(source)
        and bounds.destinations.matches(destination)
        and (bounds.either_end.matches(source) or bounds.either_end.matches(destination))
    )


@given(histories, st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_every_edge_of_every_run_is_a_row_once(history: list[RecordedRun], parts: int) -> None:
    found = once(read(recorded(history), TableName.EDGES, parts=parts))
    assert found == {row for run in latest(history).values() for row in edges_of(run)}


@given(histories, all_bounds, st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_bounded_edges_are_those_that_the_bounds_admit(
    history: list[RecordedRun], bounds: ScanBounds, parts: int
) -> None:
    table = recorded(history)
    every = read(table, TableName.EDGES)
    found = once(read(table, TableName.EDGES, bounds, parts=parts))
    assert found == {row for row in every if admitted(row, bounds)}


@given(histories, windows, among, st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_bounded_runs_are_those_that_touched_an_end_point(
    history: list[RecordedRun], window: Window, touched: DatasetFilter, parts: int
) -> None:
    table = recorded(history)
    found = once(read(table, TableName.RUNS, ScanBounds(window, touched), parts=parts))
    store = LineageStore(table)
    ends = {end for run in history for end in (*run.info.sources, *run.info.destinations)}
    wanted = {
        listed.run.run
        for end in ends
        if touched.matches(end)
        for listed in store.runs(end, window, limit=100).runs
    }
    assert {row[0] for row in found} == wanted
    for row in found:
        truth = store.run(row[0]).committed
        run = truth.run
        assert row[1:6] == (run.namespace, run.application, run.version, run.type, run.program)
        assert row[6:] == (*schemas.start_columns(run.start_ms), run.state.value, truth.checksum, None)


@given(histories, st.sets(names, max_size=2))
@settings(max_examples=50, deadline=None)
def test_runs_by_name(history: list[RecordedRun], others: set[str]) -> None:
    table = recorded(history)
    wanted = {history[0].run.run, *others}
    for name in (TableName.RUNS, TableName.EDGES):
        found = once(read(table, name, ScanBounds().with_ids(frozenset(wanted))))
        assert found == {row for row in read(table, name) if row[0] in wanted}


@given(histories, among)
@settings(max_examples=100, deadline=None)
def test_fields_are_the_catalogue(history: list[RecordedRun], touched: DatasetFilter) -> None:
    table = recorded(history)
    found = once(read(table, TableName.FIELDS, ScanBounds(either_end=touched)))
    catalogue = LineageStore(table).catalogue
    wanted: set[schemas.Row] = set()
    for namespace in catalogue.namespaces():
        for one in catalogue.datasets(namespace):
            if touched.matches(one.dataset):
                of = namespace, one.dataset.name
                wanted.add((*of, None, None, None, None, one.description or None))
                fields = catalogue.fields(one.dataset) or ()
                wanted |= {(*of, f.name, f.type or None, f.read, f.written, None) for f in fields}
    assert found == wanted


@given(histories)
@settings(max_examples=50, deadline=None)
def test_operations_are_those_of_every_content(history: list[RecordedRun]) -> None:
    table = recorded(history)
    found = once(read(table, TableName.OPERATIONS))
    assert {(row[0], row[1]) for row in found} == {
        (run.info.checksum, operation.name) for run in history for operation in run.info.operations
    }
    first = history[0].info.checksum
    named = once(read(table, TableName.OPERATIONS, ScanBounds().with_ids(frozenset({first, "0" * 32}))))
    assert named == {row for row in found if row[0] == first}


NOON = datetime(2025, 10, 1, 12, tzinfo=UTC)
NOON_MS = 1_759_320_000_000
FILTERS: list[tuple[TableName, list[Filter], ScanBounds]] = [
    (TableName.RUNS, [EqualTo(("run",), "a")], ScanBounds(ids=frozenset("a"))),
    (TableName.RUNS, [In(("run",), ("a", "b"))], ScanBounds(ids=frozenset("ab"))),
    (TableName.RUNS, [In(("run",), ("a", "b")), EqualTo(("run",), "b")], ScanBounds(ids=frozenset("b"))),
    (TableName.RUNS, [EqualTo(("namespace",), "a")], ScanBounds()),
    (TableName.RUNS, [EqualTo(("checksum",), "a")], ScanBounds()),
    (TableName.RUNS, [StringContains(("run",), "a")], ScanBounds()),
    (TableName.OPERATIONS, [EqualTo(("checksum",), "a")], ScanBounds(ids=frozenset("a"))),
    (TableName.OPERATIONS, [EqualTo(("namespace",), "a")], ScanBounds()),
    (TableName.FIELDS, [EqualTo(("namespace",), "a")], ScanBounds(either_end=DatasetFilter("a"))),
    (
        TableName.FIELDS,
        [EqualTo(("name",), "b"), EqualTo(("namespace",), "a")],
        ScanBounds(either_end=DatasetFilter("a", "b")),
    ),
    (
        TableName.FIELDS,
        [EqualTo(("namespace",), "a"), EqualTo(("namespace",), "b")],
        ScanBounds(either_end=DatasetFilter("a")),
    ),
    (TableName.FIELDS, [EqualTo(("field",), "a")], ScanBounds()),
    (TableName.EDGES, [EqualTo(("source_namespace",), "a")], ScanBounds(sources=DatasetFilter("a"))),
    (
        TableName.EDGES,
        [EqualTo(("destination_name",), "b"), EqualTo(("destination_namespace",), "a")],
        ScanBounds(destinations=DatasetFilter("a", "b")),
    ),
    (TableName.EDGES, [GreaterThanOrEqual(("start_ms",), 5)], ScanBounds(Window(5, START_LIMIT_MS))),
    (TableName.EDGES, [GreaterThan(("start_ms",), 5)], ScanBounds(Window(5, START_LIMIT_MS))),
    (TableName.EDGES, [LessThan(("start_ms",), 5)], ScanBounds(Window(0, 6))),
    (TableName.EDGES, [LessThanOrEqual(("start_ms",), -5)], ScanBounds(Window(0, 0))),
    (TableName.EDGES, [EqualTo(("start",), NOON)], ScanBounds(Window(NOON_MS, NOON_MS + 1))),
    (TableName.RUNS, [EqualTo(("start",), NOON.replace(tzinfo=None))], ScanBounds()),
    (
        TableName.RUNS,
        [LessThan(("start",), NOON.replace(microsecond=1_500))],
        ScanBounds(Window(0, NOON_MS + 2)),
    ),
]


@pytest.mark.parametrize(("name", "filters", "bounds"), FILTERS)
def test_filters_narrow_the_bounds(name: TableName, filters: list[Filter], bounds: ScanBounds) -> None:
    found = push_down(ScanBounds(), filters, name)
    assert found == bounds


class Observed(SqliteTable):
    """A table that counts the rows it gives."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.seen: Counter[bytes] = Counter()

    def rows(self, *args: Any, **options: Any) -> dict[bytes, Row]:
        found = super().rows(*args, **options)
        self.seen.update(key[:1] for key in found)
        return found

    def scan(self, *args: Any, **options: Any) -> Iterator[tuple[bytes, Row]]:
        for key, row in super().scan(*args, **options):
            self.seen[key[:1]] += 1
            yield key, row


@pytest.fixture
def observed(sample_url: str) -> Observed:
    """The sample."""
    return Observed(sample_url.removeprefix("sqlite:///"))


def seen_of(table: Observed, name: TableName, bounds: ScanBounds) -> Counter[bytes]:
    table.seen.clear()
    read(table, name, bounds)
    return Counter(table.seen)


def test_what_is_read_follows_what_is_asked(observed: Observed) -> None:
    """Rows of the table that are read, by the letter of their kind."""
    records = DatasetFilter("hospital", "PatientRecords")
    week = ScanBounds().with_window(start_ms=1_760_000_000_000 - 7 * 86_400_000).window
    every = seen_of(observed, TableName.EDGES, ScanBounds())
    assert every[b"r"] == len(read(observed, TableName.RUNS)) > 500
    assert every[b"b"] + every[b"f"] == 0
    of_week = seen_of(observed, TableName.EDGES, ScanBounds(week))
    assert of_week[b"r"] < every[b"r"] / 3
    of_one = seen_of(observed, TableName.EDGES, ScanBounds(destinations=records))
    runs = read(observed, TableName.RUNS, ScanBounds(either_end=records))
    assert of_one[b"r"] == len(runs) < every[b"r"] / 20
    assert of_one[b"f"] == 0
    of_both = seen_of(observed, TableName.EDGES, ScanBounds(week, destinations=records))
    assert 0 < of_both[b"r"] < of_one[b"r"] / 5
    catalogue = seen_of(observed, TableName.FIELDS, ScanBounds(either_end=records))
    assert catalogue == {b"e": 1}
    named = seen_of(observed, TableName.RUNS, ScanBounds().with_ids(frozenset({runs[0][0]})))
    assert named[b"r"] == 1


def corrupted(history: list[RecordedRun], key: bytes, column: bytes, value: bytes) -> Table:
    table = recorded(history)
    table.write([[Put(key, column, value)]])
    return table


def some_run() -> RecordedRun:
    return RecordedRun(ProgramRun("ns", "app", "1", "spark", "p", "one", 5), lineage.build_lineage(chain(3)))


@pytest.mark.parametrize(
    ("name", "bounds", "column", "value"),
    [
        (TableName.RUNS, ScanBounds(), layout.commit_column(9, "0" * 32), b"nonsense"),
        (TableName.RUNS, ScanBounds(), layout.commit_column(9, "0" * 32), b"0|5|COMPLETE"),
        (TableName.RUNS, ScanBounds(), layout.commit_column(9, "0" * 32), b"0|5|COMPLETE|%|||"),
        (
            TableName.RUNS,
            ScanBounds(either_end=DatasetFilter("ns")),
            layout.commit_column(9, "0" * 32),
            b"nonsense",
        ),
        (TableName.EDGES, ScanBounds(), layout.commit_column(9, "0" * 32), b"nonsense"),
    ],
)
def test_a_run_row_that_cannot_be_read_is_named(
    name: TableName, bounds: ScanBounds, column: bytes, value: bytes
) -> None:
    key = layout.run_row("one")
    with pytest.raises(CorruptRow, match="one"):
        read(corrupted([some_run()], key, column, value), name, bounds)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        (TableName.EDGES, layout.FIELD_MAP),
        (TableName.OPERATIONS, layout.operation_column("t0")),
    ],
)
def test_a_content_that_cannot_be_read_is_named(name: TableName, column: bytes) -> None:
    run = some_run()
    key = layout.content_row(run.info.checksum)
    with pytest.raises(CorruptRow, match=run.info.checksum):
        read(corrupted([run], key, column, b"nonsense"), name)


@pytest.mark.parametrize("key", [b"r|00|one", b"r|nonsense"])
def test_a_key_of_no_run_is_named(key: bytes) -> None:
    with pytest.raises(CorruptRow, match=re.escape(key.decode())):
        read(corrupted([some_run()], key, b"d:z|0", b""), TableName.RUNS)


def test_a_type_that_cannot_be_read_is_named() -> None:
    key = layout.dataset_row(FEW_END_POINTS[0])
    column = layout.typed_value_column(layout.field_column(Direction.FORWARD, "x"), "0" * 32)
    with pytest.raises(CorruptRow, match=r"e\|ns\|a"):
        read(corrupted([some_run()], key, column, b"\xff"), TableName.FIELDS)


def test_a_run_that_no_pass_has_finished_is_none() -> None:
    table = recorded([some_run()])
    held = open_table("sqlite:///:memory:")
    for key, row in table.scan(b"", b"\x7f"):
        cells: dict[bytes, Cell] = {
            column: cell for column, cell in row.items() if not column.startswith(layout.COMMIT)
        }
        held.write([[Put(key, column, cell.value) for column, cell in cells.items()]])
    assert read(table, TableName.RUNS)
    assert read(table, TableName.EDGES)
    assert read(held, TableName.RUNS) == read(held, TableName.EDGES) == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"table": "nodes"}, ConfigurationError),
        ({"name": "a"}, ConfigurationError),
        ({"partitions": "0"}, ConfigurationError),
        ({"partitions": "many"}, ConfigurationError),
        ({"store": "sqlite:///:memory:"}, ConfigurationError),
        ({"nmespace": "a"}, ConfigurationError),
        ({"start": "yesterday"}, InvalidQuery),
        ({"start": "5", "end": "4"}, InvalidQuery),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_options(options)


def test_options_are_bounds() -> None:
    said = {
        "store": "sqlite:///a.db",
        "Table": "edges",
        "namespace": "ns",
        "name": "a",
        "start": "1",
        "end": "2.5",
    }
    found = parse_options(said)
    assert found.bounds == ScanBounds(Window(1_000, 2_500), DatasetFilter("ns", "a"))
    assert (found.settings.store, found.table, found.partitions) == ("sqlite:///a.db", TableName.EDGES, 8)
    assert parse_options({"store": "sqlite:///a.db"}).bounds == ScanBounds()


def test_a_content_that_is_not_there_is_named() -> None:
    run = some_run()
    table = recorded([run])
    row = table.get(layout.content_row(run.info.checksum))
    table.delete([CellKey(layout.content_row(run.info.checksum), column) for column in row], until_ms=2**60)
    for bounds in (ScanBounds(), ScanBounds(either_end=DatasetFilter("ns"))):
        with pytest.raises(CorruptRow, match=run.info.checksum):
            read(table, TableName.EDGES, bounds)


class Swept(SqliteTable):
    """A table whose run and content are purged right before the content is read."""

    def get(self, row: bytes, *, columns: Any = ()) -> Row:
        if row.startswith(layout.CONTENTS):
            cells = [CellKey(key, column) for key, row in self.scan(b"", b"\x7f") for column in row]
            self.delete([cell for cell in cells if cell.row[:2] in (b"r|", b"c|")], until_ms=2**60)
        return super().get(row, columns=columns)


@pytest.mark.parametrize("name", [TableName.RUNS, TableName.EDGES, TableName.OPERATIONS])
@pytest.mark.parametrize(
    "bounds",
    [ScanBounds(), ScanBounds(either_end=DatasetFilter("ns")), ScanBounds().with_ids(frozenset({"one"}))],
)
def test_what_is_purged_meanwhile_is_no_error(name: TableName, bounds: ScanBounds) -> None:
    table = Swept(":memory:")
    run = some_run()
    table.write(
        [
            [
                Put(key, c, cell.value)
                for key, row in recorded([run]).scan(b"", b"\x7f")
                for c, cell in row.items()
            ]
        ]
    )
    if name is TableName.RUNS and bounds.either_end.matches_all:
        assert len(read(table, name, bounds)) == 1
    else:
        assert read(table, name, bounds) == []


@given(histories, all_bounds, among, few_starts)
@settings(max_examples=100, deadline=None)
def test_where_references_were_purged_run_rows_tell(
    history: list[RecordedRun], bounds: ScanBounds, cut: DatasetFilter, horizon_ms: int
) -> None:
    """Runs that start before a horizon lose references at some end points, and are runs all the same."""
    table = recorded(history)
    wanted = {name: set(read(table, name, bounds)) for name in (TableName.RUNS, TableName.EDGES)}
    for end_point in filter(cut.matches, FEW_END_POINTS):
        for direction in Direction:
            purged = table.scan(*layout.window_range(direction, end_point, Window(0, horizon_ms)))
            table.delete([CellKey(key, column) for key, row in purged for column in row], until_ms=2**60)
        table.write([[Put(layout.dataset_row(end_point), layout.horizon_column(horizon_ms), b"")]])
    for name, rows_ in wanted.items():
        assert set(read(table, name, bounds)) == rows_
