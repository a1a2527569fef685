"""Small histories of one field of a dataset with two names, for hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.model.datasets import DatasetField, DatasetMetadata, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.strategies import FEW_END_POINTS, operation_sets

A, B, _ = FEW_END_POINTS
NAMES = (A, B)
"""Two names of one dataset."""

FIELD = DatasetField(A, "x")
STARTS = [0, 1, DAY_MS - 1, DAY_MS, DAY_MS + 1, 5 * DAY_MS]
EVER = Window(0, 6 * DAY_MS)


class Recorded(NamedTuple):
    """One document: a run id, when it starts, its state, and which operations it has."""

    run: str
    start_ms: int
    state: State
    version: int


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[tuple[Operation, ...]], list[Recorded]]:
    """Versions of operations that differ little or not for the field, and documents of few runs."""
    sets = draw(st.lists(operation_sets(transforms_max=3), min_size=1, max_size=2))
    versions = [draw(_writing(operations)) for operations in sets]
    for operations in list(versions):
        beside = Write("beside the others", "", A, "", (InputField(_origin(operations), "beside"),))
        number = draw(st.integers(0, len(operations) - 1))
        described = replace(operations[number], description="another")
        filtering = InputField(_origin(operations), "x", Influence.INDIRECT, "filter")
        versions += [
            (*operations, beside),
            (*operations[:number], described, *operations[number + 1 :]),
            tuple(_with_input(operation, filtering) for operation in operations),
        ]
    documents = st.builds(
        Recorded,
        run=st.sampled_from(["1", "2", "3", "a b", "a|", "é", "7", "8"]),
        start_ms=st.sampled_from(STARTS),
        state=st.sampled_from([State.COMPLETE, State.COMPLETE, State.FAIL, State.RUNNING]),
        version=st.integers(0, len(versions) - 1),
    )
    return versions, draw(st.lists(documents, min_size=5, max_size=12))


@st.composite
def _writing(draw: st.DrawFn, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The operations, which mostly write the field once more: few random ones do."""
    producers = [operation.name for operation in operations if not isinstance(operation, Write)]
    item = InputField(draw(st.sampled_from(producers)), FIELD.name)
    write = Write("one more", "", draw(st.sampled_from(NAMES)), "", (item,))
    return draw(st.sampled_from([(*operations, write)] * 3 + [operations]))


def _with_input(operation: Operation, item: InputField) -> Operation:
    """A transform with one more input; other operations are as they were."""
    return (
        replace(operation, inputs=(*operation.inputs, item))
        if isinstance(operation, Transform)
        else operation
    )


def _origin(operations: Sequence[Operation]) -> str:
    return next(operation.name for operation in operations if isinstance(operation, Read))


def program_run(document: Recorded) -> ProgramRun:
    return ProgramRun("ns", "app", "", "spark", "p", document.run, document.start_ms, document.state)


def recorded_store(
    versions: Sequence[tuple[Operation, ...]],
    documents: Sequence[Recorded],
    store_settings: Settings | None = None,
) -> LineageStore:
    """A store of these documents, recorded one after the other."""
    store = LineageStore(open_table("sqlite:///:memory:"), store_settings)
    store.put_metadata(
        [DatasetMetadata(A, (Field(FIELD.name),), aliases=(B,)), DatasetMetadata(B, aliases=(A,))]
    )
    record_documents(store, versions, documents)
    return store


def record_documents(
    store: LineageStore, versions: Sequence[tuple[Operation, ...]], documents: Sequence[Recorded]
) -> None:
    """Record documents one after the other."""
    infos = [lineage.build_lineage(operations) for operations in versions]
    for document in documents:
        store.record([RecordedRun(program_run(document), infos[document.version])])


bounds = st.tuples(st.sampled_from([*STARTS, EVER.stop_ms]), st.sampled_from([*STARTS, EVER.stop_ms]))
windows = st.just(EVER) | bounds.map(lambda ends: Window(min(ends), max(ends)))
