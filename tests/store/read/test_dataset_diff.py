"""The diff of a dataset has the fields whose derivations differ, each as its own diff has it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import State
from fll_hbase.model.window import Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.results import DatasetDiff
from tests.support.cancellation import cancelled_after
from tests.support.derivation_signature import derivation_signature
from tests.support.field_histories import (
    EVER,
    NAMES,
    STARTS,
    Recorded,
    recorded_store,
    windows,
    worlds,
)
from tests.support.strategies import FEW_END_POINTS, FEW_FIELDS

A, B, OTHER = FEW_END_POINTS
EARLY, LATE = Window(0, STARTS[3]), Window(STARTS[3], EVER.stop_ms)


@given(worlds(), windows, windows, st.booleans(), st.booleans())
def test_fields_are_those_with_other_derivations(
    world: tuple[list[tuple[Operation, ...]], list[Recorded]],
    window: Window,
    base: Window,
    indirect: bool,
    failed: bool,
) -> None:
    versions, documents = world
    store = recorded_store(versions, documents)
    window, base = replace(window, failed=failed), replace(base, failed=failed)

    def ways(name: str, bounds: Window) -> set[object]:
        """The ways in which runs of a window derive a field, under each name of the dataset."""
        latest = {document.run: document for document in documents}
        return {
            (dataset, signature)
            for document in latest.values()
            if document.start_ms in bounds and (failed or not document.state.failed)
            for dataset in NAMES
            if (
                signature := derivation_signature(
                    versions[document.version], DatasetField(dataset, name), indirect=indirect
                )
            )
        }

    diff = store.dataset_diff(A, window, base, indirect=indirect)
    names = [*FEW_FIELDS, "beside"]
    expected = sorted(name for name in names if ways(name, window) != ways(name, base))
    assert [field.name for field in diff.fields] == expected
    for field in diff.fields:
        assert field.diff == store.diff(DatasetField(A, field.name), window, base, indirect=indirect)
    assert diff.truncated_by == ()
    reverse = store.dataset_diff(A, base, window, indirect=indirect)
    assert [field.name for field in reverse.fields] == expected


def version(number: int, *fields: str) -> tuple[Operation, ...]:
    """A content that makes the fields by a transform of its own, and `kept` always in the same way."""
    written = [InputField(f"t{number}", name) for name in fields]
    return (
        Read("read", "", OTHER, "", (Field("y"),)),
        Transform("always", "", (InputField("read", "y"),), (Field("kept"),)),
        Transform(f"t{number}", "", (InputField("read", "y"),), tuple(map(Field, fields))),
        Write("write", "", A, "", (InputField("always", "kept"), *written)),
    )


def two_releases(count: int, settings: Settings | None = None) -> LineageStore:
    """A store in which `count` fields are made in one way on the first day, and in another one later."""
    names = [f"f{number:05}" for number in range(count)]
    documents = [
        Recorded(str(number), start_ms, State.COMPLETE, number)
        for number, start_ms in enumerate((0, STARTS[3]))
    ]
    return recorded_store([version(0, *names), version(1, *names)], documents, settings)


def test_fields_that_were_derived_alike_are_left_out() -> None:
    diff = two_releases(3).dataset_diff(A, LATE, EARLY)
    assert [field.name for field in diff.fields] == ["f00000", "f00001", "f00002"]
    for field in diff.fields:
        assert field.diff.gained is not None
        assert [operation.name for operation in field.diff.gained.operations] == ["t1"]


def test_windows_of_the_same_contents_read_none(monkeypatch: pytest.MonkeyPatch) -> None:
    store = two_releases(3)
    with monkeypatch.context() as patched:
        patched.setattr(ContentCache, "_operation_cells", None)
        assert store.dataset_diff(A, EVER, EVER) == DatasetDiff((), ())


def test_a_dataset_that_was_never_recorded_is_not_found() -> None:
    with pytest.raises(NotFound):
        two_releases(1).dataset_diff(Dataset("never", "seen"), LATE, EARLY)


@pytest.mark.parametrize(
    ("settings", "limit", "count"),
    [
        (Settings(list_limit_max=2), "list_limit_max=2", 2),
        (Settings(connections_max=3), "connections_max=3", 1),
        (Settings(pairs_max=6), "pairs_max=6", 3),
    ],
)
def test_what_bounds_it_is_named(settings: Settings, limit: str, count: int) -> None:
    diff = two_releases(9, settings).dataset_diff(A, LATE, EARLY)
    assert (len(diff.fields), diff.truncated_by) == (count, (limit,))


def test_contents_that_do_not_fit_into_memory_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = two_releases(9)
    complete = store.dataset_diff(A, LATE, EARLY)
    monkeypatch.setattr("fll_hbase.store.read.dataset_diff._INDEXED_INPUTS_MAX", 1)
    assert store.dataset_diff(A, LATE, EARLY) == complete


def test_at_the_deadline_it_has_the_first_fields() -> None:
    store = two_releases(20)
    complete = store.dataset_diff(A, LATE, EARLY)
    lengths = set()
    for checks in range(200):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            diff = store.dataset_diff(A, LATE, EARLY)
            lengths.add(len(diff.fields))
            assert diff.fields == complete.fields[: len(diff.fields)]
            is_cut = len(diff.fields) < len(complete.fields)
            assert diff.truncated_by == (("request_seconds=60",) if is_cut else ())
    assert {1, 20} <= lengths
