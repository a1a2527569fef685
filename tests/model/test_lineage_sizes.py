"""Work and stored bytes grow with the operations: for few fields and, in long runs, for fifty thousand.

Work is counted in function calls for each field, which a quadratic step would multiply by ten.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows import content_rows
from fll_hbase.tables import open_table
from tests.support.profiles import PROFILE
from tests.support.sized_operations import (
    all_to_all,
    copy,
    fan_out,
    names,
    read,
    rename,
    running_total,
    write,
)
from tests.support.work import count_calls

SMALL, LARGE = (1_000, 10_000) if PROFILE == "long" else (300, 3_000)
LARGEST = 50_000 if PROFILE == "long" else LARGE
GROWTH_MAX = 3
"""Of calls for each field, from the small to the large size; with many operations no graphs are stored."""


def sums(count: int) -> list[Operation]:
    """Each field from two, which are far from each other."""
    fields = names(count)
    transforms = [
        Transform(
            f"t{name}",
            "",
            (InputField("read", name), InputField("read", fields[(number + count // 3) % count])),
            (Field(name),),
        )
        for number, name in enumerate(fields)
    ]
    return [read(count), *transforms, write([InputField(t.name, t.outputs[0].name) for t in transforms])]


def chain(count: int) -> list[Operation]:
    transforms = [
        Transform(f"t{n}", "", (InputField(f"t{n - 1}" if n else "read", "f00000"),), (Field("f00000"),))
        for n in range(count)
    ]
    return [read(1), *transforms, write([InputField(f"t{count - 1}", "f00000")])]


def tables(count: int) -> list[Operation]:
    """A run that copies one table of 50 columns for each 50 fields."""
    operations: list[Operation] = []
    for number in range(count // 50):
        source, destination = Dataset("ns", f"s{number:03}"), Dataset("ns", f"d{number:03}")
        operations.append(Read(f"r{number}", "", source, "", tuple(map(Field, names(50)))))
        inputs = tuple(InputField(f"r{number}", name) for name in names(50))
        operations.append(Write(f"w{number}", "", destination, "", inputs))
    return operations


SHAPES: list[Callable[[int], list[Operation]]] = [
    copy,
    rename,
    sums,
    all_to_all,
    chain,
    running_total,
    fan_out,
    tables,
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_stored_bytes_grow_with_the_operations(shape: Callable[[int], list[Operation]]) -> None:
    def stored(count: int) -> tuple[int, int]:
        """The bytes of the operations, and of all other cells of the content."""
        puts = content_rows.encode_content(lineage.build_lineage(shape(count))).data
        operations = sum(len(put.value) for put in puts if put.column.startswith(b"o:op|"))
        return operations, sum(len(put.value) for put in puts) - operations

    for count in (10, SMALL, LARGEST):
        operations, others = stored(max(count, 50))
        assert others < operations


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_recording_and_questions_take_work_for_each_operation(
    shape: Callable[[int], list[Operation]],
) -> None:
    small, large = calls_per_field(shape, SMALL), calls_per_field(shape, LARGE)
    for kind, calls in large.items():
        assert calls < GROWTH_MAX * small[kind], kind


def calls_per_field(shape: Callable[[int], list[Operation]], count: int) -> dict[str, float]:
    """The calls for each field of recording a run, and of the questions about its first and last dataset."""
    operations = shape(count)
    table = open_table("sqlite:///:memory:")
    source, target = first_and_last_field(operations)
    window = Window(0, 10)

    def record() -> None:
        run = ProgramRun("ns", "app", "", "spark", "nightly", "run", 5)
        LineageStore(table).record([RecordedRun(run, lineage.build_lineage(operations))])

    def ask() -> None:
        store = LineageStore(table)
        for field, direction in ((target, Direction.BACKWARD), (source, Direction.FORWARD)):
            assert store.lineage(field.dataset, window, level=1, directions=(direction,)).entries
            assert store.field_lineage(field, window, direction=direction).graph.nodes

    return {"record": count_calls(record) / count, "ask": count_calls(ask) / count}


def first_and_last_field(operations: list[Operation]) -> tuple[DatasetField, DatasetField]:
    """A field of the first source, and one of the last destination."""
    first, last = operations[0], operations[-1]
    assert isinstance(first, Read)
    assert isinstance(last, Write)
    return (
        DatasetField(first.source, first.outputs[0].name),
        DatasetField(last.destination, last.inputs[0].name),
    )
