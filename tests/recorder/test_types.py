"""Values of the recorder are complete and frozen, and their constructors never raise."""

from __future__ import annotations

import time
import uuid
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.recorder import Destination, Field, FieldOperation, Run, Source, State

anything = st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text()) | st.builds(object)


@given(anything, anything, anything)
def test_making_them_never_fails(first: Any, second: Any, third: Any) -> None:
    Source(first, second, third)
    Destination(first, second, fields=third)
    operation = FieldOperation(first, inputs=second, outputs=third)
    assert isinstance(operation.inputs, tuple)
    assert isinstance(operation.outputs, tuple)


@pytest.mark.parametrize("alone", ["body", Field("body", "string"), Source("ns", "name")])
def test_one_input_without_a_list_is_one_input(alone: Any) -> None:
    assert FieldOperation("parse", inputs=alone) == FieldOperation("parse", inputs=[alone])


def test_they_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        FieldOperation("parse").name = "other"  # type: ignore[misc]


def test_a_run_has_an_id_of_its_own_and_starts_now() -> None:
    before_ms = time.time_ns() // 1_000_000
    first, second = (Run(application="a", program="p") for _ in range(2))
    assert before_ms <= first.start_ms <= time.time_ns() // 1_000_000
    assert first.run != second.run
    assert uuid.UUID(first.run).version == 4
    assert (first.type, first.state) == ("spark", State.COMPLETE)


@pytest.mark.parametrize("state", State)
def test_an_ended_run_is_the_same_run(state: State) -> None:
    run = Run(application="a", program="p", state=State.RUNNING)
    ended = run.with_state(state)
    assert (ended.run, ended.start_ms, ended.state) == (run.run, run.start_ms, state)
    assert run.with_state().state is State.COMPLETE
