"""The head of a document whose operations are known: read at once, or closely, with the same result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime.errors import InputError, TooLarge, UnreadableDocument
from fll_hbase.sources.native import document
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from tests.support.lineage_documents import copying, run

NAMESPACE = "ns"
ODD: list[Any] = [None, "", "x", "RUNNING", "running", 7, 7.0, True, [], {}, "ü" * 300, "🙂" * 300, NAMESPACE]
LONG = ["x" * ID_BYTES_MAX, "x" * (ID_BYTES_MAX + 1), "x" * NAME_BYTES_MAX, "x" * (NAME_BYTES_MAX + 1)]
STARTS = [0, 10**11 - 1, 10**11, START_LIMIT_MS - 1, START_LIMIT_MS, 10**30, -1, 1.8e12]
MEMBERS = ["application", "version", "type", "program", "run", "startTime", "state", "more"]
OPERATIONS = document.read(copying("a", "b", "x"), namespace=NAMESPACE).operations


@st.composite
def heads(draw: st.DrawFn) -> Any:
    """Documents without operations, in which up to two members are odd, missing, or unknown."""
    values = st.sampled_from([*ODD, *LONG, *STARTS])
    head: dict[str, Any] = {
        "run": {**run("id", program="p"), "version": "1", "state": "FAIL"},
        "operations": 0,
    }
    for name in draw(st.lists(st.sampled_from(MEMBERS), max_size=2)):
        if draw(st.booleans()):
            head["run"][name] = draw(values)
        else:
            head["run"].pop(name, None)
    if draw(st.booleans()):
        head[draw(st.sampled_from(["namespace", "run", "destination", "more"]))] = draw(values)
    return head


def outcome(head: Any, namespace: str | None) -> Any:
    try:
        reading = document.read(head, namespace=namespace, operations=OPERATIONS)
    except InputError as error:
        return list(error.errors)
    return reading.run, reading.operations, list(reading.warnings)


@given(head=heads(), namespace=st.sampled_from([NAMESPACE, None, "", *LONG]))
def test_both_ways_are_one(head: Any, namespace: str | None) -> None:
    read_at_once = outcome(head, namespace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_read_plain_run", lambda *_: None)
        assert read_at_once == outcome(head, namespace)


@pytest.mark.parametrize("head", [{}, {"namespace": NAMESPACE}])
def test_usual_heads_are_read_at_once(head: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(document, "read_run")
    head_run, operations, warnings = outcome({**head, "run": run("id"), "operations": 0}, NAMESPACE)
    assert (head_run.run, operations, warnings) == ("id", OPERATIONS, [])


def test_faults_of_the_run_come_before_operations_that_are_too_large() -> None:
    sources = [{"source": {"name": f"s{number}"}} for number in range(400)]
    large = {"name": "o", "inputs": sources, "outputs": [f"f{number}" for number in range(400)]}
    too_large = {"run": run("id"), "destination": {"name": "d"}, "operations": [large]}
    with pytest.raises(TooLarge):
        document.read(too_large, namespace=NAMESPACE)
    with pytest.raises(UnreadableDocument, match="run: must be an object"):
        document.read({**too_large, "run": None}, namespace=NAMESPACE)
