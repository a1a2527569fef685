"""Recorded runs survive encoding into cells and back; oversized and corrupt cells are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage
from fll_hbase.model.checksum import checksum
from fll_hbase.model.datasets import DatasetMetadata, Field
from fll_hbase.model.field_relations import dataset_relations, is_same_lineage, iter_edges
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operation_graph import operations_by_field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, RunKey, State, run_key
from fll_hbase.model.window import Direction
from fll_hbase.runtime.errors import CorruptRow, TooLarge
from fll_hbase.store import endpoints
from fll_hbase.store.rows import content_rows, run_rows
from fll_hbase.store.rows.field_map_codec import decode_field_map
from fll_hbase.store.rows.run_rows import ContentEndpoints
from fll_hbase.tables import Cell, Put, Row
from tests.support import content_form_1 as form_1
from tests.support.run_keys import committed_run
from tests.support.strategies import FEW_END_POINTS, infos, program_runs, recorded_runs

A, B, _ = FEW_END_POINTS
CHECKSUM = "79655ecae1889b9a7c9d61af2fd3489b"


def stored(puts: Iterable[Put]) -> dict[bytes, Row]:
    """The rows that the puts come to."""
    rows: dict[bytes, Row] = {}
    for put in puts:
        rows.setdefault(put.row, {})[put.column] = Cell(put.value, 0)
    return rows


def data_row(info: FieldLineageInfo) -> Row:
    ((key, row),) = stored(content_rows.encode_content(info).data).items()
    assert key == layout.content_row(info.checksum)
    return row


@given(infos())
def test_content_reads_back_from_its_row(info: FieldLineageInfo) -> None:
    row = data_row(info)
    assert decode_field_map(row) == info.field_map
    assert endpoints.decode_endpoints(layout.content_row(info.checksum), row) == ContentEndpoints(
        info.checksum, info.sources, info.destinations
    )
    names = content_rows.decode_operation_names(row[layout.OPERATION_NAMES])
    assert names == [operation.name for operation in info.operations]
    operations = [content_rows.decode_operation(row[layout.operation_column(name)]) for name in names]
    assert tuple(operations) == info.operations
    assert checksum(operations) == info.checksum


@given(infos())
def test_graph_cells_read_back_as_the_numbers_of_operations(info: FieldLineageInfo) -> None:
    row = data_row(info)
    for column, bits in partial_graphs(info).items():
        assert (
            sum(1 << number for number in content_rows.decode_ranges(row[column], len(info.operations)))
            == bits
        )


def partial_graphs(info: FieldLineageInfo) -> dict[bytes, int]:
    """The graph columns of fields whose graph lacks some operation."""
    sets = operations_by_field(info.operations)
    return {
        layout.graph_column(direction, dataset, field): bits
        for direction, by_dataset in ((Direction.BACKWARD, sets.backward), (Direction.FORWARD, sets.forward))
        for dataset, by_field in by_dataset.items()
        for field, bits in by_field.items()
        if bits != 2 ** len(info.operations) - 1
    }


@given(infos())
def test_nothing_else_stands_in_a_data_row(info: FieldLineageInfo) -> None:
    assert len(data_row(info)) == 5 + len(info.operations) + len(partial_graphs(info))


def zipped(length: int) -> list[Operation]:
    """Two chains whose operations alternate by name, behind `length` fields that are read by both.

    So every set of operations behind a field is every other one of them.
    """
    wide_outputs = tuple(Field(f"f{number:03}") for number in range(length))
    operations: list[Operation] = [Read("r", "", A, "", wide_outputs)]
    for number in range(length):
        origin = f"t{number - 2:04}" if number > 1 else "r"
        operations.append(Transform(f"t{number:04}", "", (InputField(origin, "x"),), (Field("x"),)))
    wide_inputs = tuple(InputField("r", field.name) for field in wide_outputs)
    operations[1] = replace(operations[1], inputs=wide_inputs)
    last, previous = f"t{length - 1:04}", f"t{length - 2:04}"
    return [
        *operations,
        Write("w", "", B, "", (InputField(previous, "x"),)),
        Write("w2", "", A, "", (InputField(last, "x"),)),
    ]


@pytest.mark.parametrize(("length", "stored_cells"), [(40, True), (300, False), (600, False)])
def test_graph_cells_are_left_out_where_they_would_outgrow_the_operations(
    length: int, stored_cells: bool
) -> None:
    info = lineage.build_lineage(zipped(length))
    row = data_row(info)
    graphs = [content_rows.encode_ranges(bits) for bits in partial_graphs(info).values()]
    operations = [cell.value for column, cell in row.items() if column.startswith(layout.OPERATION)]
    assert (sum(map(len, graphs)) <= sum(map(len, operations))) == stored_cells
    assert len([column for column in row if column[:4] in (b"o:b|", b"o:f|")]) == (
        len(graphs) if stored_cells else 0
    )


@given(st.sets(st.integers(0, 300), min_size=1))
def test_sets_of_numbers_read_back(numbers: set[int]) -> None:
    value = content_rows.encode_ranges(sum(1 << number for number in numbers))
    assert list(content_rows.decode_ranges(Cell(value, 0), 301)) == sorted(numbers)


def test_sets_of_numbers_are_ranges() -> None:
    assert content_rows.encode_ranges(0b10000111) == b"0-2,7"
    assert content_rows.encode_ranges(0b11) == b"0-1"
    assert content_rows.encode_ranges(2**10_000 - 1) == b"0-9999"


@pytest.mark.parametrize("value", [b"", b"x", b"1,", b"1" * 5_000, b"-1", b"1-2-3", b"\xff", b"0x1", b"1.5"])
def test_what_is_no_set_of_numbers_is_corrupt(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="operation numbers"):
        list(content_rows.decode_ranges(Cell(value, 0), 10))


@pytest.mark.parametrize("value", [b"0-999999999", b"10", b"2,1", b"0-3,3", b"5-4"])
def test_a_damaged_set_of_numbers_takes_no_memory(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="10 operations"):
        list(content_rows.decode_ranges(Cell(value, 0), 10))


@given(program_runs, infos(transforms_max=0))
def test_a_commit_record_reads_back(run: ProgramRun, info: FieldLineageInfo) -> None:
    committed = committed_run(info.checksum, run)
    value = run_rows.encode_run(committed)
    assert run_rows.decode_run(run_key(run.run, run.namespace), value) == committed
    assert (
        run_rows.decode_head(value)
        == run_rows.decode_head(run_rows.encode_head(run_rows.head_of(committed)))
        == (info.checksum, run.start_ms, run.state)
    )
    assert run_rows.is_head_only(run_rows.encode_head(run_rows.head_of(committed)))
    assert not run_rows.is_head_only(value)


@given(
    st.binary(max_size=30)
    | st.from_regex(rb"[a-f0-9]{2}\|[0-9]{1,3}\|(COMPLETE|FAIL)(\|[a-c%|]{0,3}){4,6}", fullmatch=True)
)
def test_any_other_commit_record_is_corrupt_and_nothing_else(value: bytes) -> None:
    try:
        committed = run_rows.decode_run(RunKey("run"), value)
    except CorruptRow:
        return
    assert run_rows.decode_run(RunKey("run"), run_rows.encode_run(committed)) == committed


GOOD = f"{CHECKSUM}|5|COMPLETE|ns|app|1|spark|nightly".encode()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        GOOD + b"|more",
        GOOD.rpartition(b"|")[0],
        GOOD.replace(b"|5|", b"|five|"),
        GOOD.replace(b"COMPLETE", b"DONE"),
        GOOD.replace(b"COMPLETE", b"\xff"),
        GOOD.replace(b"app", b"a p"),
        GOOD.replace(CHECKSUM[:2].encode(), b"\xff"),
        GOOD + b"|{",
        GOOD + b'|{"sql":' + b"[" * 100_000,
    ],
)
def test_a_malformed_commit_record_is_corrupt(value: bytes) -> None:
    assert run_rows.decode_run(RunKey("run"), GOOD).checksum == CHECKSUM
    with pytest.raises(CorruptRow):
        run_rows.decode_run(RunKey("run"), value)


KEY = layout.run_row("run")


def run_row(*documents: tuple[int, bytes]) -> Row:
    return stored(run_rows.document_put(KEY, number, value) for number, value in documents)[KEY]


def test_the_latest_document_has_the_highest_number() -> None:
    row = run_row((1, b"one"), (10, b"ten"), (9, b"nine"))
    assert run_rows.latest_document(row) == (10, b"ten")
    assert run_rows.input_count(row) == 3
    assert run_rows.latest_document({}) is None


@given(st.permutations([b"a", b"b", b"c"]))
def test_on_a_tie_all_readers_take_the_same_document(values: list[bytes]) -> None:
    latest = run_rows.latest_document(run_row(*((4, value) for value in values)))
    assert latest == run_rows.latest_document(run_row(*((4, value) for value in sorted(values))))
    assert latest is not None
    assert latest.number == 4


def test_the_same_document_again_is_the_same_cell() -> None:
    assert len(run_row((1, b"one"), (1, b"one"))) == 1


def test_the_commit_record_of_the_greatest_count_counts() -> None:
    puts = [
        run_rows.commit_put(KEY, count, value)
        for count, value in ((2, b"two"), (11, b"eleven"), (10, b"ten"))
    ]
    row = stored(puts)[KEY]
    assert run_rows.commit_value(row) == b"eleven"
    assert run_rows.commit_value(run_row((1, b"a document is no truth"))) is None


@pytest.mark.parametrize("column", [b"d:z|0000000x|0", b"d:z|", b"d:z|0x000001|0"])
def test_a_commit_column_without_a_count_is_corrupt(column: bytes) -> None:
    with pytest.raises(CorruptRow):
        run_rows.commit_count({column: Cell(b"", 0)}, b"", inputs=0)


def test_a_document_column_without_a_number_is_corrupt() -> None:
    with pytest.raises(CorruptRow, match="not the column of a document"):
        run_rows.latest_document({layout.DOCUMENT + b"first|x": Cell(b"", 0)})


@given(recorded_runs)
def test_references_name_every_end_of_the_run(recorded: RecordedRun) -> None:
    run, info = recorded.run, recorded.info
    committed, ends = committed_run(info.checksum, run), content_rows.encode_content(info).endpoints
    directed = {
        *((Direction.BACKWARD, e) for e in info.destinations),
        *((Direction.FORWARD, e) for e in info.sources),
    }
    tail = layout.reference_tail(run.start_ms, *run_key(run.run, run.namespace))
    references = list(
        run_rows.reference_puts(committed, ends, program=run_rows.encode_program(committed.run))
    )
    assert {put.row for put in references} == {
        layout.reference_prefix(*directed_end) + tail for directed_end in directed
    }
    kind = layout.FAILED_REFERENCE if run.state in (State.FAIL, State.ABORT) else layout.REFERENCE
    assert {put.column for put in references} == {kind + info.checksum.encode()}
    assert len(references) == len(directed)


@given(infos(), infos())
def test_catalogue_cells_say_the_same_in_any_order(left: FieldLineageInfo, other: FieldLineageInfo) -> None:
    first, second = content_rows.encode_content(left).catalogue, content_rows.encode_content(other).catalogue
    assert stored([*first, *second]) == stored([*second, *first])


def test_unique_keeps_the_last_put_of_a_cell() -> None:
    puts = [Put(b"r", b"d:x", b"1"), Put(b"r", b"d:y", b"2"), Put(b"r", b"d:x", b"3")]
    assert sorted(run_rows.last_put_per_cell(puts)) == [Put(b"r", b"d:x", b"3"), Put(b"r", b"d:y", b"2")]


@given(infos(), infos())
def test_content_is_the_same_only_where_every_operation_is(
    left: FieldLineageInfo, other: FieldLineageInfo
) -> None:
    row, content = data_row(left), content_rows.encode_content(left)
    assert content_rows.has_same_operations(row, content)
    assert content_rows.has_same_operations(row, content_rows.encode_content(other)) == (
        left.operations == other.operations
    )
    column = layout.operation_column(left.operations[0].name)
    assert not content_rows.has_same_operations(
        {key: cell for key, cell in row.items() if key != column}, content
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"sources":[]}',
        b'{"sources":[["a"]],"destinations":[],"flows":[],"dropped":["0","0"]}',
        b'{"sources":[["n","a",["x"]]],"destinations":[["n","b"]],"flows":[[0,["y"],"2","0"]],"generated":[],'
        b'"dropped":["0","0"],"whole":[],"unread":[],"unwritten":[]}',
        b'{"sources":[["n","a",["x"]]],"destinations":[["n","b"]],"flows":[[0,["y"],"-1","0"]],"generated":[],'
        b'"dropped":["0","0"],"whole":[],"unread":[],"unwritten":[]}',
        b'{"sources":[["n","a",["x"]]],"destinations":[["n","b"]],"flows":[[-1,["y"],"1","0"]],"generated":[],'
        b'"dropped":["0","0"],"whole":[],"unread":[],"unwritten":[]}',
    ],
)
def test_what_is_no_field_map_is_corrupt(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="field map"):
        decode_field_map({layout.FIELD_MAP: Cell(value, 0)})


@given(infos(), st.booleans())
def test_form_1_reads_back_as_the_same_lineage(info: FieldLineageInfo, backward: bool) -> None:
    row = {layout.FIELD_MAP: Cell(form_1.field_map_1(info.field_map), 0)}
    old, new = decode_field_map(row), info.field_map
    assert is_same_lineage(old, new)
    assert set(iter_edges(old)) == set(iter_edges(new))
    for dataset in FEW_END_POINTS:
        assert dataset_relations(old, dataset, backward=backward, pairs_max=10**9) == dataset_relations(
            new, dataset, backward=backward, pairs_max=10**9
        )


@given(infos(), infos())
def test_lineages_are_the_same_only_if_their_edges_are(
    left: FieldLineageInfo, right: FieldLineageInfo
) -> None:
    equal = is_same_lineage(left.field_map, right.field_map)
    assert not equal or set(iter_edges(left.field_map)) == set(iter_edges(right.field_map))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("copied", [[9, ["x"], "0"]]),
        ("copied", [[0, ["x"], "9"]]),
        ("copied", [[0, ["x"], "0-99999999999"]]),
        ("copied", [[0, ["x", "y"], "0"]]),
        ("copied", [[0, ["x"], "0,0,0"]]),
        ("copied", [[0, [5], "0"]]),
        ("sets", [["0,0,0"]]),
        ("sources", [["ns", "a", [5]]]),
        ("derived", [[0, ["x"], 0]]),
        ("derived", [[0, ["x"], -1]]),
        ("sets", [["1"]]),
        ("sets", [["1-0"]]),
        ("sets", [["0", "", "0"]]),
        ("sets", [["0", "", "", "", "0"]]),
        ("dropped", 0),
        ("whole", [[0, 0]]),
        ("generated", [[1, ["x"]]]),
        ("unread", [1]),
    ],
)
def test_a_field_map_that_points_beyond_its_lists_is_corrupt(member: str, value: object) -> None:
    stored_map = json.loads(data_row(lineage.build_lineage(copying()))[layout.FIELD_MAP].value)
    stored_map[member] = value
    with pytest.raises(CorruptRow, match="field map"):
        decode_field_map({layout.FIELD_MAP: Cell(json.dumps(stored_map).encode(), 0)})


def test_a_row_without_a_field_map_is_corrupt() -> None:
    with pytest.raises(CorruptRow, match="field map"):
        decode_field_map({})


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"[1]",
        b'{"type":"SORT","name":"x","description":""}',
        b'{"type":"READ","name":"x","description":"","source":"y","outputs":[]}',
        b'{"type":"READ","name":"x","description":"","source":null,"outputs":[]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_operation_is_corrupt(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="not an operation"):
        content_rows.decode_operation(Cell(value, 0))
    with pytest.raises(CorruptRow, match="not an operation"):
        list(event_operations.carried_operations(value.decode("latin-1")))


@pytest.mark.parametrize("value", [b"", b"null", b"5", b"\xff"])
def test_other_cells_than_lists_of_names_or_datasets_are_corrupt(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="operation names"):
        content_rows.decode_operation_names(Cell(value, 0))
    with pytest.raises(CorruptRow, match="list of datasets"):
        endpoints.decode_endpoints(
            layout.content_row(CHECKSUM),
            {layout.SOURCES: Cell(value, 0), layout.DESTINATIONS: Cell(value, 0)},
        )


OVERSIZED = "x" * (run_rows.CELL_BYTES_MAX + 1)


def copying(**changes: object) -> list[Operation]:
    """A READ named `big` and a WRITE, with one part of the READ replaced."""
    read = Read("big", "", A, "", (Field("x"),))
    return [replace(read, **changes), Write("w", "", B, "", (InputField("big", "x"),))]


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param(copying(description=OVERSIZED), id="description"),
        pytest.param(
            [
                Read("r", "", A, "", ()),
                Write("w", "", B, "", ()),
                Transform("gen", "", (), ()),
                Transform("big", "", (InputField("gen", "x" * 2**22), InputField("gen", "y" * 2**22)), ()),
            ],
            id="inputs",
        ),
        pytest.param(copying(source_description=OVERSIZED), id="end point"),
        pytest.param(copying(outputs=(Field("x", OVERSIZED),)), id="type"),
        pytest.param(
            copying(outputs=tuple(Field("f" * 2**20 + str(n)) for n in range(8))),
            id="fields",
        ),
    ],
)
def test_an_operation_that_no_cell_holds_is_refused_by_name(operations: list[Operation]) -> None:
    with pytest.raises(
        TooLarge, match=r"operation 'big' is \d+ bytes long, one cell holds 8388608; split it"
    ):
        content_rows.encode_content(lineage.build_lineage(operations))


def test_a_cell_of_the_greatest_size_is_stored() -> None:
    small = len(data_row(lineage.build_lineage(copying()))[layout.operation_column("big")].value)
    info = lineage.build_lineage(copying(description="x" * (run_rows.CELL_BYTES_MAX - small)))
    assert len(data_row(info)[layout.operation_column("big")].value) == run_rows.CELL_BYTES_MAX


def test_a_list_of_ends_that_no_cell_holds_is_refused() -> None:
    reads = [Read(f"r{n}", "", A._replace(name="n" * 30_000 + str(n)), "", ()) for n in range(300)]
    with pytest.raises(TooLarge, match=r"operation 'r100' with the names of all sources is \d+ bytes long"):
        content_rows.encode_content(lineage.build_lineage([*reads, Write("w", "", B, "", ())]))


def test_a_list_of_operations_that_no_cell_holds_is_refused_by_the_largest() -> None:
    names = [f"{number:03}" + "n" * 30_000 for number in range(300)]
    transforms = [Transform(name, "", (), ()) for name in [*names, "largest" + "n" * 30_000]]
    operations = [Read("r", "", A, "", ()), *transforms, Write("w", "", B, "", ())]
    with pytest.raises(TooLarge, match=r"operation 'largestn+' with the names of all others is \d+ bytes"):
        content_rows.encode_content(lineage.build_lineage(operations))


@pytest.mark.parametrize(
    ("metadata", "label"),
    [
        (DatasetMetadata(A, description=OVERSIZED), "the description of ns/a"),
        (DatasetMetadata(A, fields=(Field("x", OVERSIZED),)), "the type of field 'x' of ns/a"),
    ],
)
def test_metadata_that_no_cell_holds_is_refused_by_its_dataset(metadata: DatasetMetadata, label: str) -> None:
    with pytest.raises(TooLarge, match=rf"^{label} is \d+ bytes long"):
        list(content_rows.metadata_puts(metadata))


def test_a_content_of_no_operations_has_a_row() -> None:
    info = lineage.build_lineage_lenient([])
    assert decode_field_map(data_row(info)) == info.field_map


def test_a_field_map_that_no_cell_holds_is_refused_by_the_widest_operation() -> None:
    outputs = [tuple(Field(f"{n}" + "f" * 2**20 + str(number)) for number in range(4 + n)) for n in range(2)]
    reads = [Read(f"r{n}", "", A, "", fields) for n, fields in enumerate(outputs)]
    with pytest.raises(TooLarge, match=r"operation 'r1' with the fields of all others is \d+ bytes long"):
        content_rows.encode_content(lineage.build_lineage([*reads, Write("w", "", B, "", ())]))


def test_a_program_that_no_cell_holds_is_refused() -> None:
    run = ProgramRun("ns", OVERSIZED, "", "spark", "nightly", "run", 5)
    with pytest.raises(TooLarge):
        run_rows.document_put(KEY, 1, run_rows.encode_run(committed_run(CHECKSUM, run)))


def test_a_reference_key_that_hbase_would_refuse_is_too_large() -> None:
    run = ProgramRun("ns", "app", "", "spark", "nightly", "r" * 20_000, 5)
    ends = ContentEndpoints(CHECKSUM, (A._replace(name="n" * 20_000),), ())
    with pytest.raises(TooLarge, match="names too long"):
        list(run_rows.reference_puts(committed_run(CHECKSUM, run), ends, program=b""))
