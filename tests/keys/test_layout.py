"""Keys parse in one way only; key ranges contain exactly what they should."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow, TooLarge
from tests.support.strategies import AWKWARD, directions, end_points, names, starts, texts, windows

Reference: TypeAlias = tuple[Direction, Dataset, int, str]

LAST_START_MS = START_LIMIT_MS - 1
EVER = Window(0, START_LIMIT_MS)
END_POINT = Dataset("ns", "table")
CHECKSUMS = ("00000000000000000000000000000000", "79655ecae1889b9a7c9d61af2fd3489b", "f" * 32)

tripping = st.sampled_from(AWKWARD) | st.text("a|%7C/", max_size=4)
references = st.tuples(directions, st.builds(Dataset, tripping, tripping), starts, tripping)


def reference(direction: Direction, end_point: Dataset, start_ms: int, run: str) -> bytes:
    return layout.reference_prefix(direction, end_point) + layout.reference_tail(start_ms, run)


def holds(bounds: layout.Range, key: bytes) -> bool:
    return bounds[0] <= key < bounds[1]


@given(references, references)
@example((Direction.BACKWARD, Dataset("a", "b|c"), 0, "r"), (Direction.BACKWARD, Dataset("a|b", "c"), 0, "r"))
@example((Direction.FORWARD, Dataset("a", "%7C"), 0, "r"), (Direction.FORWARD, Dataset("a", "|"), 0, "r"))
def test_distinct_references_have_distinct_keys(left: Reference, other: Reference) -> None:
    assert (reference(*left) == reference(*other)) == (left == other)


@given(st.tuples(directions, end_points, names), st.tuples(directions, end_points, names))
@example(
    (Direction.FORWARD, Dataset("a", "b"), "c|d"),
    (Direction.FORWARD, Dataset("a", "b|c"), "d"),
)
def test_distinct_fields_have_distinct_graph_columns(
    left: tuple[Direction, Dataset, str], other: tuple[Direction, Dataset, str]
) -> None:
    assert (layout.graph_column(*left) == layout.graph_column(*other)) == (left == other)


def test_no_two_kinds_of_rows_share_a_key() -> None:
    keys = [
        *(layout.content_row(checksum) for checksum in CHECKSUMS),
        *(layout.run_row(run) for run in AWKWARD),
        *(layout.dataset_row(Dataset(ns, name)) for ns, name in product(AWKWARD, AWKWARD)),
        *(reference(way, Dataset(name, name), 0, name) for way, name in product(Direction, AWKWARD)),
        *(calendars.ways_prefix(way, Dataset(name, name)) for way, name in product(Direction, AWKWARD)),
        *(calendars.horizon_row(Dataset(name, name)) for name in AWKWARD),
        *(calendars.calendar_row(checksum, 0) for checksum in CHECKSUMS),
    ]
    assert len(set(keys)) == len(keys)


@given(names, texts, names)
def test_a_prefix_of_a_name_is_a_prefix_of_the_key(prefix: str, rest: str, namespace: str) -> None:
    short, long = Dataset(namespace, prefix), Dataset(namespace, prefix + rest)
    assert layout.dataset_row(long).startswith(layout.dataset_row(short))
    assert layout.dataset_row(long).startswith(layout.dataset_prefix(namespace))
    assert layout.run_row(prefix + rest)[5:].startswith(layout.run_row(prefix)[5:])


@given(directions, end_points, starts, starts, names, names)
def test_references_of_an_end_point_sort_newest_first(
    direction: Direction, end_point: Dataset, left: int, other: int, run: str, other_run: str
) -> None:
    if left != other:
        newer = reference(direction, end_point, left, run) < reference(direction, end_point, other, other_run)
        assert newer == (left > other)


@given(directions, end_points, windows, starts, names)
def test_a_window_holds_exactly_the_starts_it_names(
    direction: Direction, end_point: Dataset, window: Window, start_ms: int, run: str
) -> None:
    bounds = layout.window_range(direction, end_point, window)
    assert holds(bounds, reference(direction, end_point, start_ms, run)) == (start_ms in window)


@given(directions, windows, names)
@example(Direction.BACKWARD, EVER, "r")
@example(Direction.BACKWARD, Window(0, 1), "r")
@example(Direction.BACKWARD, Window(LAST_START_MS, START_LIMIT_MS), "\U0010ffff")
@example(Direction.FORWARD, Window(5, 5), "r")
def test_a_window_holds_what_stands_at_its_edges(direction: Direction, window: Window, run: str) -> None:
    bounds = layout.window_range(direction, END_POINT, window)
    edges = (window.start_ms - 1, window.start_ms, window.stop_ms - 1, window.stop_ms, 0, LAST_START_MS)
    for start_ms in edges:
        if 0 <= start_ms <= LAST_START_MS:
            assert holds(bounds, reference(direction, END_POINT, start_ms, run)) == (start_ms in window)


@given(windows, windows, starts, names)
def test_a_window_is_the_union_of_its_halves(window: Window, cut: Window, start_ms: int, run: str) -> None:
    middle_ms = min(max(window.start_ms, cut.start_ms), window.stop_ms)
    halves = Window(window.start_ms, middle_ms), Window(middle_ms, window.stop_ms)
    key = reference(Direction.FORWARD, END_POINT, start_ms, run)
    holding = [holds(layout.window_range(Direction.FORWARD, END_POINT, half), key) for half in halves]
    assert sum(holding) == holds(layout.window_range(Direction.FORWARD, END_POINT, window), key)


@given(directions, end_points, directions, end_points, starts, names, windows)
def test_a_window_holds_no_other_end_points(
    direction: Direction,
    end_point: Dataset,
    other_direction: Direction,
    other: Dataset,
    start_ms: int,
    run: str,
    window: Window,
) -> None:
    if (direction, end_point) != (other_direction, other):
        key = reference(other_direction, other, start_ms, run)
        assert not holds(layout.window_range(direction, end_point, window), key)


@given(windows)
def test_bounds_without_an_end_point_are_those_of_the_window(window: Window) -> None:
    prefix = layout.reference_prefix(Direction.BACKWARD, END_POINT)
    start, stop = layout.start_bounds(window)
    assert layout.window_range(Direction.BACKWARD, END_POINT, window) == (prefix + start, prefix + stop)


@given(starts, names, names | st.just(""))
def test_the_tail_of_a_reference_reads_back(start_ms: int, run: str, namespace: str) -> None:
    tail = layout.reference_tail(start_ms, run, namespace)
    assert layout.parse_reference_tail(tail) == (start_ms, (run, namespace))


@given(names, names, names | st.just(""))
def test_the_rows_of_an_id_are_those_of_its_namespaces(run: str, other: str, namespace: str) -> None:
    start, stop = layout.run_rows_of_id(run)
    assert (start <= layout.run_row(other, namespace) < stop) is (other == run and namespace != "")


@given(directions, names)
def test_a_field_column_reads_back(direction: Direction, field: str) -> None:
    column = layout.field_column(direction, field)
    assert layout.parse_field_column(column) == (direction, field, False)
    type_column = layout.typed_value_column(column, CHECKSUMS[1])
    assert layout.parse_field_column(type_column) == (direction, field, True)


@pytest.mark.parametrize(
    "column", [layout.EXISTS, layout.DESCRIPTION + b"0" * 32, layout.FIELD_MAP, b"d:bx", b"o:b|x"]
)
def test_no_other_column_is_a_field(column: bytes) -> None:
    assert layout.parse_field_column(column) is None


@given(st.binary(max_size=40) | st.from_regex(rb"[0-9a-f]{15,17}\|[a%7C|+]{0,4}", fullmatch=True))
def test_any_other_tail_is_corrupt_and_nothing_else(tail: bytes) -> None:
    try:
        start_ms, run = layout.parse_reference_tail(tail)
    except CorruptRow:
        return
    assert layout.reference_tail(start_ms, *run) == tail


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b"7ffffeb00e9b862f",
        b"7ffffeb00e9b862|r",
        b"7ffffeb00e9b862g|r",
        b"7ffffeb00e9b862f|a|b",
        b"7ffffeb00e9b862f|%zz",
        b"7ffffeb00e9b862f|\xff",
        b"7FFFFEB00E9B862F|r",
        b"+fffffeb00e9b862|r",
        b"8000000000000000|r",
        b"7ffffeb00e9b862f|r+",
        b"7ffffeb00e9b862f|r+a+b",
    ],
)
def test_a_malformed_tail_is_corrupt(tail: bytes) -> None:
    with pytest.raises(CorruptRow):
        layout.parse_reference_tail(tail)


@example(b"a")
@given(st.binary(max_size=20) | st.from_regex(rb"[a-c%0-9|]{0,8}", fullmatch=True))
def test_any_other_column_of_an_alias_is_corrupt_and_nothing_else(rest: bytes) -> None:
    column = layout.ALIAS + rest
    try:
        alias = layout.parse_alias(column)
    except CorruptRow:
        return
    assert layout.alias_column(alias) == column


@given(st.binary(max_size=20) | st.from_regex(rb"[a-c%0-9|]{0,8}", fullmatch=True))
def test_any_other_field_column_is_corrupt_and_nothing_else(rest: bytes) -> None:
    column = layout.WRITTEN + rest
    try:
        parsed = layout.parse_field_column(column)
    except CorruptRow:
        return
    assert parsed is not None
    direction, field, is_type = parsed
    assert column.startswith(layout.field_column(direction, field))
    assert is_type == (b"|" in rest)


LONG = "x" * 32_768


@pytest.mark.parametrize(
    "make",
    [
        lambda: layout.run_row(LONG),
        lambda: layout.reference_prefix(Direction.BACKWARD, Dataset(LONG, "x")),
        lambda: layout.reference_prefix(Direction.FORWARD, Dataset("x", LONG)),
        lambda: calendars.ways_prefix(Direction.FORWARD, Dataset("x", LONG)),
        lambda: calendars.horizon_row(Dataset("x", LONG)),
        lambda: layout.dataset_row(Dataset("x", LONG)),
        lambda: layout.dataset_prefix(LONG),
        lambda: layout.graph_column(Direction.FORWARD, Dataset("x", "x"), LONG),
        lambda: layout.run_row("é" * 6_000),
    ],
    ids=["run", "backward", "forward", "ways", "horizon", "end point", "namespace", "graph", "escaped"],
)
def test_keys_that_hbase_would_refuse_are_too_large(make: object) -> None:
    assert callable(make)
    with pytest.raises(TooLarge, match="names too long"):
        make()
