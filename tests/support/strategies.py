"""Hypothesis strategies for names, operations, runs and windows."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import (
    KINDS,
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    outputs_of,
)
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window

AWKWARD = (
    "|",
    "%",
    "%7C",
    "a|b",
    "a%7Cb",
    "/",
    "a/b",
    "\x00",
    "\n",
    " ",
    '"',
    "\\",
    "é",
    "e\u0301",
    "🙂",
    "a:",
    "\u2028",
)
"""Names that a key, a line or a JSON text could trip over."""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Any text that UTF-8 can say: all of Unicode but surrogates."""

names = st.sampled_from(AWKWARD) | texts.filter(bool)
descriptions = st.sampled_from(["", "copies", "a | b", "größer 🙂\n"])
types = st.sampled_from(["", "", "int", "array<string>"])
directions = st.sampled_from(Direction)
end_points = st.builds(Dataset, names, names)

starts = st.integers(0, START_LIMIT_MS - 1) | st.sampled_from([0, 1, START_LIMIT_MS - 1])
"""Starts in milliseconds, the first and the last among them."""

FEW_END_POINTS = (Dataset("ns", "a"), Dataset("ns", "b"), Dataset("n|s", "a/b 🙂"))
FEW_FIELDS = ("x", "y", "z", "x/y.z", "f|g:")
few_end_points = st.sampled_from(FEW_END_POINTS)
few_fields = st.sampled_from(FEW_FIELDS)
"""Few, so that they collide."""

windows = st.tuples(st.integers(0, START_LIMIT_MS), st.integers(0, START_LIMIT_MS)).map(
    lambda ends: Window(min(ends), max(ends))
)

program_runs = st.builds(
    ProgramRun,
    namespace=names,
    application=names,
    version=texts,
    type=names,
    program=names,
    run=names,
    start_ms=starts,
    state=st.sampled_from(State),
)

_counts = st.sampled_from([1, 2, 3, 2, 3, 0])
_outputs = _counts.flatmap(
    lambda count: st.lists(st.builds(Field, few_fields, types), min_size=count, max_size=count).map(tuple)
)


@st.composite
def operation_sets(draw: st.DrawFn, *, transforms_max: int = 5) -> tuple[Operation, ...]:
    """Valid operations in any order: at least a READ and a WRITE, and inputs that stand in no cycle.

    Names tell nothing about the order. Now and then an input is not listed by its origin, is taken twice, or
    has an output of its origin listed twice.
    """
    reads, transforms, writes = (
        draw(st.integers(1, 2)),
        draw(st.integers(0, transforms_max)),
        draw(st.integers(1, 3)),
    )
    drops = draw(st.integers(0, 1))
    count = reads + transforms + writes + drops
    unused = draw(st.permutations(draw(st.lists(names, min_size=count, max_size=count, unique=True))))
    producers: list[Operation] = [
        Read(unused.pop(), draw(descriptions), draw(few_end_points), draw(descriptions), draw(_outputs))
        for _ in range(reads)
    ]
    for _ in range(transforms):
        write_inputs = draw(_inputs((*producers, *producers[reads:], *producers[-1:])))
        producers.append(Transform(unused.pop(), draw(descriptions), write_inputs, draw(_outputs)))
    givers = (*producers, *producers[reads:], *producers[reads:])
    producers += [
        Transform(unused.pop(), draw(descriptions), draw(_inputs(givers)), ()) for _ in range(drops)
    ]
    for _ in range(writes):
        write_inputs = draw(_inputs(givers))
        producers.append(
            Write(unused.pop(), draw(descriptions), draw(few_end_points), draw(descriptions), write_inputs)
        )
    return tuple(draw(st.permutations(producers)))


@st.composite
def _inputs(draw: st.DrawFn, givers: tuple[Operation, ...]) -> tuple[InputField, ...]:
    inputs = []
    count = draw(_counts)
    for giver in draw(st.lists(st.sampled_from(givers), min_size=count, max_size=count)):
        listed = [field.name for field in outputs_of(giver)]
        name = draw(st.sampled_from([*listed, *listed, *listed, *FEW_FIELDS[:2]]))
        direct = draw(st.booleans()) or draw(st.booleans())
        kind = "" if direct else draw(st.sampled_from(["", *sorted(KINDS)]))
        inputs.append(InputField(giver.name, name, Influence.DIRECT if direct else Influence.INDIRECT, kind))
    return tuple(inputs)


@st.composite
def two_versions(draw: st.DrawFn) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """Two sets of operations; the second differs from the first in one operation or not at all."""
    operations = draw(operation_sets())
    position = draw(st.integers(0, len(operations) - 1))
    operation = operations[position]
    changes: list[Operation] = [operation, replace(operation, description="another")]
    if not isinstance(operation, Read):
        changes.append(replace(operation, inputs=operation.inputs[1:]))
    if not isinstance(operation, Write):
        changes.append(replace(operation, outputs=(*operation.outputs, Field("beside"))))
    changed = draw(st.sampled_from(changes))
    return operations, (*operations[:position], changed, *operations[position + 1 :])


def infos(*, transforms_max: int = 5) -> st.SearchStrategy[FieldLineageInfo]:
    """Lineage of valid operations."""
    return operation_sets(transforms_max=transforms_max).map(lineage.build_lineage)


recorded_runs = st.builds(RecordedRun, program_runs, infos())


def chain(length: int) -> list[Operation]:
    """A READ, a WRITE, and between them transforms one after another: `length` operations in all."""
    operations: list[Operation] = [Read("t0", "", FEW_END_POINTS[0], "", (Field("x"),))]
    for number in range(1, length - 1):
        inputs = (InputField(f"t{number - 1}", "x"),)
        operations.append(Transform(f"t{number}", "", inputs, (Field("x"),)))
    inputs = (InputField(f"t{length - 2}", "x"),)
    return [*operations, Write("w", "", FEW_END_POINTS[1], "", inputs)]


def all_to_all(transforms: int, fields: int) -> list[Operation]:
    """Transforms in a row, each of which makes every field from every field of the one before."""
    outputs = tuple(Field(f"f{number}") for number in range(fields))

    def inputs_from(origin: str) -> tuple[InputField, ...]:
        return tuple(InputField(origin, field.name) for field in outputs)

    return [
        Read("t0", "", FEW_END_POINTS[0], "", outputs),
        *(Transform(f"t{n}", "", inputs_from(f"t{n - 1}"), outputs) for n in range(1, transforms + 1)),
        Write("w", "", FEW_END_POINTS[1], "", inputs_from(f"t{transforms}")),
    ]
