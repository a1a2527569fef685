"""Rows of all partitions, read in this process, agree with the store, whatever the bounds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
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
from pyspark.sql.types import StringType, StructField, StructType

from fll_hbase.keys import layout
from fll_hbase.model import field_relations, lineage
from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Influence
from fll_hbase.model.runs import ProgramRun, RecordedRun, RunKey, run_key
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, CorruptRow, InvalidQuery
from fll_hbase.spark.datasource import partitions, schemas
from fll_hbase.spark.datasource import row_tuples as rows
from fll_hbase.spark.datasource.pushdown import push_down
from fll_hbase.spark.datasource.reader_options import (
    ALWAYS,
    DatasetFilter,
    ReadRequest,
    ScanBounds,
    TableName,
    parse_options,
)
from fll_hbase.spark.datasource.writer import LineageWriter, open_writer
from fll_hbase.spark.lines.arrow_batches import Row as TableRow
from fll_hbase.store.components import build_components
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Cell, CellKey, Put, Row, Table, open_table
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.strategies import FEW_END_POINTS, chain, infos, names, program_runs

EVERYTHING = ScanBounds()
FEW_STARTS = (0, 1, 999, 1_000, 86_400_000, schemas.LAST_MS, schemas.LAST_MS + 1, START_LIMIT_MS - 1)
few_starts = st.sampled_from(FEW_STARTS)
histories = st.lists(
    st.builds(
        lambda run, info, start_ms: RecordedRun(replace(run, start_ms=start_ms), info, replaces_others=True),
        program_runs,
        infos(transforms_max=2),
        few_starts,
    ),
    min_size=1,
    max_size=5,
)
dataset_filters = st.sampled_from(
    [DatasetFilter(), *(DatasetFilter(end.namespace) for end in FEW_END_POINTS)]
) | st.sampled_from(FEW_END_POINTS).map(lambda end: DatasetFilter(end.namespace, end.name))
windows = st.just(ALWAYS) | st.tuples(few_starts, few_starts).map(lambda ends: Window(min(ends), max(ends)))
all_bounds = st.builds(ScanBounds, windows, dataset_filters, dataset_filters, dataset_filters)


def record_history(history: Sequence[RecordedRun]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    return table


def read(
    table: Table, name: TableName, bounds: ScanBounds = EVERYTHING, *, partition_count: int = 3
) -> list[TableRow]:
    """The rows of all partitions."""
    request = ReadRequest(Settings(), name, bounds, partition_count)
    store = build_components(table, request.settings)
    return [
        row
        for partition in partitions.plan_partitions(request, table)
        for row in rows.read_rows(store, request, partition)
    ]


def relation_rows(relation: DatasetLineage) -> Iterator[tuple[str | None, ...]]:
    """A relation as the last seven columns of edges."""
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


def expected_edges(run: RecordedRun) -> set[TableRow]:
    """The rows of edges of a run, from its dataset relations."""
    head = run.run.run, run.run.namespace, *schemas.start_columns(run.run.start_ms), run.info.checksum
    rows = set()
    for dataset in FEW_END_POINTS:
        for backward in (True, False):
            relations = field_relations.dataset_relations(
                run.info.field_map, dataset, backward=backward, pairs_max=10**9
            )
            rows |= {
                (*head, *ends)
                for relation in relations.by_datasets.values()
                for ends in relation_rows(relation)
            }
    return rows


def latest(history: Sequence[RecordedRun]) -> dict[RunKey, RecordedRun]:
    return {run_key(run.run.run, run.run.namespace): run for run in history}


def unique_rows(rows: list[TableRow]) -> set[TableRow]:
    assert [row for row, count in Counter(rows).items() if count > 1] == []
    return set(rows)


def matches_bounds(row: TableRow, bounds: ScanBounds) -> bool:
    """Whether a row of edges matches the bounds."""
    source = Dataset(row[5], row[6]) if row[5] else None
    destination = Dataset(row[8], row[9]) if row[8] else None
    return (
        row[3] in bounds.window
        and bounds.sources.matches(source)
        and bounds.destinations.matches(destination)
        and (bounds.either_end.matches(source) or bounds.either_end.matches(destination))
    )


@given(histories, st.integers(1, 9))
def test_every_edge_of_every_run_is_one_row(history: list[RecordedRun], partition_count: int) -> None:
    rows = read(record_history(history), TableName.EDGES, partition_count=partition_count)
    expected = [row for run in latest(history).values() for row in expected_edges(run)]
    assert sorted(unique_rows(rows), key=repr) == sorted(expected, key=repr)


@given(histories, all_bounds, st.integers(1, 9))
def test_bounded_edges_are_those_that_match(
    history: list[RecordedRun], bounds: ScanBounds, partition_count: int
) -> None:
    table = record_history(history)
    all_rows = read(table, TableName.EDGES)
    rows = read(table, TableName.EDGES, bounds, partition_count=partition_count)
    assert Counter(rows) == Counter(row for row in all_rows if matches_bounds(row, bounds))


@given(histories, windows, dataset_filters, st.integers(1, 9))
def test_bounded_runs_are_those_with_a_matching_dataset(
    history: list[RecordedRun], window: Window, either_end: DatasetFilter, partition_count: int
) -> None:
    table = record_history(history)
    rows = unique_rows(
        read(table, TableName.RUNS, ScanBounds(window, either_end), partition_count=partition_count)
    )
    store = LineageStore(table)
    datasets = {dataset for run in history for dataset in (*run.info.sources, *run.info.destinations)}
    expected = {
        (listed.run.run, listed.run.namespace)
        for dataset in datasets
        if either_end.matches(dataset)
        for listed in store.runs(dataset, window, limit=100).runs
    }
    assert {row[:2] for row in rows} == expected
    for row in rows:
        committed = store.run(*row[:2]).committed
        run = committed.run
        assert row[1:6] == (run.namespace, run.application, run.version, run.type, run.program)
        assert row[6:] == (*schemas.start_columns(run.start_ms), run.state.value, committed.checksum, None)


@given(histories, st.sets(names, max_size=2))
def test_runs_by_name(history: list[RecordedRun], other_ids: set[str]) -> None:
    table = record_history(history)
    ids = {history[0].run.run, *other_ids}
    for name in (TableName.RUNS, TableName.EDGES):
        matches = read(table, name, ScanBounds().with_ids(frozenset(ids)))
        assert Counter(matches) == Counter(row for row in read(table, name) if row[0] in ids)


@given(histories, dataset_filters)
def test_fields_are_the_catalogue(history: list[RecordedRun], either_end: DatasetFilter) -> None:
    table = record_history(history)
    rows = unique_rows(read(table, TableName.FIELDS, ScanBounds(either_end=either_end)))
    catalogue = LineageStore(table).catalogue
    expected: set[TableRow] = set()
    for namespace in catalogue.namespaces():
        for entry in catalogue.datasets(namespace):
            if either_end.matches(entry.dataset):
                dataset_columns = namespace, entry.dataset.name
                expected.add((*dataset_columns, None, None, None, None, entry.description or None))
                fields = catalogue.fields(entry.dataset) or ()
                expected |= {
                    (*dataset_columns, f.name, f.type or None, f.read, f.written, None) for f in fields
                }
    assert rows == expected


@given(histories)
def test_operations_are_those_of_every_content(history: list[RecordedRun]) -> None:
    table = record_history(history)
    rows = unique_rows(read(table, TableName.OPERATIONS))
    assert {(row[0], row[1]) for row in rows} == {
        (run.info.checksum, operation.name) for run in history for operation in run.info.operations
    }
    first = history[0].info.checksum
    rows_by_id = unique_rows(
        read(table, TableName.OPERATIONS, ScanBounds().with_ids(frozenset({first, "0" * 32})))
    )
    assert rows_by_id == {row for row in rows if row[0] == first}


NOON = datetime(2025, 10, 1, 12, tzinfo=UTC)
NOON_MS = 1_759_320_000_000


@given(histories, dataset_filters, st.integers(1, 9))
def test_operations_of_a_dataset_are_those_of_its_contents(
    history: list[RecordedRun], either_end: DatasetFilter, partition_count: int
) -> None:
    table = record_history(history)
    bounds = ScanBounds(either_end=either_end)
    rows = unique_rows(read(table, TableName.OPERATIONS, bounds, partition_count=partition_count))
    contents = {
        run.info.checksum
        for run in history
        if either_end.matches_all
        or any(either_end.matches(dataset) for dataset in (*run.info.sources, *run.info.destinations))
    }
    assert rows == {row for row in read(table, TableName.OPERATIONS) if row[0] in contents}


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
    narrowed = push_down(ScanBounds(), filters, name)
    assert narrowed == bounds


class CountingTable(SqliteTable):
    """A table that counts the rows it returns."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.seen: Counter[bytes] = Counter()

    def rows(self, *args: Any, **options: Any) -> dict[bytes, Row]:
        rows = super().rows(*args, **options)
        self.seen.update(key[:1] for key in rows)
        return rows

    def scan(self, *args: Any, **options: Any) -> Iterator[tuple[bytes, Row]]:
        for key, row in super().scan(*args, **options):
            self.seen[key[:1]] += 1
            yield key, row


@pytest.fixture
def counting_table(sample_url: str) -> CountingTable:
    """The store of the sample."""
    return CountingTable(sample_url.removeprefix("sqlite:///"))


def rows_read(table: CountingTable, name: TableName, bounds: ScanBounds) -> Counter[bytes]:
    table.seen.clear()
    read(table, name, bounds)
    return Counter(table.seen)


@pytest.mark.slow
def test_rows_read_follow_the_bounds(counting_table: CountingTable) -> None:
    """Counts rows of the table by the letter of their key."""
    records = DatasetFilter("hospital", "PatientRecords")
    week = ScanBounds().with_window(start_ms=1_760_000_000_000 - 7 * 86_400_000).window
    unbounded = rows_read(counting_table, TableName.EDGES, ScanBounds())
    assert unbounded[b"r"] == len(read(counting_table, TableName.RUNS)) > 500
    assert unbounded[b"b"] + unbounded[b"f"] == 0
    in_week = rows_read(counting_table, TableName.EDGES, ScanBounds(week))
    assert in_week[b"r"] < unbounded[b"r"] / 3
    by_dataset = rows_read(counting_table, TableName.EDGES, ScanBounds(destinations=records))
    runs = read(counting_table, TableName.RUNS, ScanBounds(either_end=records))
    assert by_dataset[b"r"] == len(runs) < unbounded[b"r"] / 20
    assert by_dataset[b"f"] == 0
    by_both = rows_read(counting_table, TableName.EDGES, ScanBounds(week, destinations=records))
    assert 0 < by_both[b"r"] < by_dataset[b"r"] / 5
    catalogue = rows_read(counting_table, TableName.FIELDS, ScanBounds(either_end=records))
    assert catalogue == {b"e": 1}
    by_id = rows_read(counting_table, TableName.RUNS, ScanBounds().with_ids(frozenset({runs[0][0]})))
    assert by_id[b"r"] == 1


def record_with_cell(history: list[RecordedRun], key: bytes, column: bytes, value: bytes) -> Table:
    table = record_history(history)
    table.write([[Put(key, column, value)]])
    return table


def example_run() -> RecordedRun:
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
def test_an_unreadable_run_row_is_named(
    name: TableName, bounds: ScanBounds, column: bytes, value: bytes
) -> None:
    key = layout.run_row("one", "ns")
    with pytest.raises(CorruptRow, match="one"):
        read(record_with_cell([example_run()], key, column, value), name, bounds)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        (TableName.EDGES, layout.FIELD_MAP),
        (TableName.OPERATIONS, layout.operation_column("t0")),
    ],
)
def test_an_unreadable_content_is_named(name: TableName, column: bytes) -> None:
    run = example_run()
    key = layout.content_row(run.info.checksum)
    with pytest.raises(CorruptRow, match=run.info.checksum):
        read(record_with_cell([run], key, column, b"nonsense"), name)


@pytest.mark.parametrize("key", [b"r|00|one", b"r|nonsense"])
def test_an_unreadable_key_is_named(key: bytes) -> None:
    with pytest.raises(CorruptRow, match=re.escape(key.decode())):
        read(record_with_cell([example_run()], key, b"d:z|0", b""), TableName.RUNS)


def test_an_unreadable_type_is_named() -> None:
    key = layout.dataset_row(FEW_END_POINTS[0])
    column = layout.typed_value_column(layout.field_column(Direction.FORWARD, "x"), "0" * 32)
    with pytest.raises(CorruptRow, match=r"e\|ns\|a"):
        read(record_with_cell([example_run()], key, column, b"\xff"), TableName.FIELDS)


def test_an_uncommitted_run_is_no_row() -> None:
    table = record_history([example_run()])
    uncommitted = open_table("sqlite:///:memory:")
    for key, row in table.scan(b"", b"\x7f"):
        cells: dict[bytes, Cell] = {
            column: cell for column, cell in row.items() if not column.startswith(layout.COMMIT)
        }
        uncommitted.write([[Put(key, column, cell.value) for column, cell in cells.items()]])
    assert read(table, TableName.RUNS)
    assert read(table, TableName.EDGES)
    assert read(uncommitted, TableName.RUNS) == read(uncommitted, TableName.EDGES) == []


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
        ({"table": "fields", "start": "5"}, ConfigurationError),
        ({"table": "operations", "end": "now"}, ConfigurationError),
        ({"path": "lineage.db"}, ConfigurationError),
        ({"path": "sqlite:/tmp/lineage.db"}, ConfigurationError),
        ({"path": "sqlite:///a.db", "store": "sqlite:///b.db"}, ConfigurationError),
        ({"paths": '["sqlite:///a.db","sqlite:///b.db"]'}, ConfigurationError),
    ],
)
def test_unreadable_options_are_refused(options: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_options(options)


def test_options_are_bounds() -> None:
    options = {
        "store": "sqlite:///a.db",
        "Table": "edges",
        "namespace": "ns",
        "name": "a",
        "start": "1",
        "end": "2.5",
    }
    request = parse_options(options)
    assert request.bounds == ScanBounds(Window(1_000, 2_500), DatasetFilter("ns", "a"))
    assert (request.settings.store, request.table, request.partitions) == (
        "sqlite:///a.db",
        TableName.EDGES,
        8,
    )
    assert parse_options({"store": "sqlite:///a.db"}).bounds == ScanBounds()


HBASE = "hbase://gateway1:9090,gateway2:9090/field_level_lineage"


@pytest.mark.parametrize("url", ["sqlite:///a.db", "sqlite:////tmp/a b%20c.db", HBASE])
def test_the_path_is_the_store(url: str) -> None:
    assert parse_options({"path": url}).settings.store == url
    assert parse_options({"path": url, "STORE": url}).settings.store == url
    schema = StructType([StructField("value", StringType())])
    assert open_writer(LineageWriter, {"path": url}, schema).target.settings.store == url
    with pytest.raises(ConfigurationError, match="two stores"):
        open_writer(LineageWriter, {"path": url, "store": "sqlite:///other.db"}, schema)


@pytest.mark.parametrize(
    ("names", "column"), [(["a", "VALUE"], "VALUE"), (["Value", "value"], "value"), (["vALUE"], "vALUE")]
)
def test_the_column_of_documents_is_found_in_any_case(names: list[str], column: str) -> None:
    schema = StructType([StructField(name, StringType()) for name in names])
    target = open_writer(LineageWriter, {"store": "sqlite:///a.db"}, schema)
    assert target.column == column


@pytest.mark.parametrize("names", [["Value", "VALUE"], ["line"]])
def test_a_frame_without_a_single_column_of_documents_is_refused(names: list[str]) -> None:
    schema = StructType([StructField(name, StringType()) for name in names])
    with pytest.raises(ConfigurationError, match="`value`"):
        open_writer(LineageWriter, {"store": "sqlite:///a.db"}, schema)


def test_a_missing_content_is_named() -> None:
    run = example_run()
    table = record_history([run])
    row = table.get(layout.content_row(run.info.checksum))
    table.delete([CellKey(layout.content_row(run.info.checksum), column) for column in row], until_ms=2**60)
    for bounds in (ScanBounds(), ScanBounds(either_end=DatasetFilter("ns"))):
        with pytest.raises(CorruptRow, match=run.info.checksum):
            read(table, TableName.EDGES, bounds)


class PurgedTable(SqliteTable):
    """A table whose run and content are purged right before the content is read."""

    def rows(self, keys: Sequence[bytes], *, columns: Any = ()) -> dict[bytes, Row]:
        if any(key.startswith(layout.CONTENTS) for key in keys):
            cells = [CellKey(key, column) for key, row in self.scan(b"", b"\x7f") for column in row]
            self.delete([cell for cell in cells if cell.row[:2] in (b"r|", b"c|")], until_ms=2**60)
        return super().rows(keys, columns=columns)


@pytest.mark.parametrize("name", [TableName.RUNS, TableName.EDGES, TableName.OPERATIONS])
@pytest.mark.parametrize(
    "bounds",
    [ScanBounds(), ScanBounds(either_end=DatasetFilter("ns")), ScanBounds().with_ids(frozenset({"one"}))],
)
def test_a_concurrent_purge_is_no_error(name: TableName, bounds: ScanBounds) -> None:
    table = PurgedTable(":memory:")
    run = example_run()
    table.write(
        [
            [
                Put(key, c, cell.value)
                for key, row in record_history([run]).scan(b"", b"\x7f")
                for c, cell in row.items()
            ]
        ]
    )
    if name is TableName.RUNS and bounds.either_end.matches_all:
        assert len(read(table, name, bounds)) == 1
    else:
        assert read(table, name, bounds) == []


@given(histories, all_bounds, dataset_filters, few_starts)
def test_run_rows_are_read_where_references_were_purged(
    history: list[RecordedRun], bounds: ScanBounds, cut: DatasetFilter, horizon_ms: int
) -> None:
    """Runs that start before a horizon have lost references of some datasets, but still have their row."""
    table = record_history(history)
    expected = {name: set(read(table, name, bounds)) for name in (TableName.RUNS, TableName.EDGES)}
    for dataset in filter(cut.matches, FEW_END_POINTS):
        for direction in Direction:
            purged = table.scan(*layout.window_range(direction, dataset, Window(0, horizon_ms)))
            table.delete([CellKey(key, column) for key, row in purged for column in row], until_ms=2**60)
        table.write([[Put(layout.dataset_row(dataset), layout.horizon_column(horizon_ms), b"")]])
    for name, run_rows in expected.items():
        assert set(read(table, name, bounds)) == run_rows
