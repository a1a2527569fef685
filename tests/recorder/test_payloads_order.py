"""Sets have a stable order: one checksum, whatever the hash seed of the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fll_hbase.recorder import FieldOperation, LineageRecorder, NotRecorded, Source
from fll_hbase.recorder.payloads import order_operations
from fll_hbase.runtime.errors import UnreadableDocument
from tests.support import seed_run as seed

PROGRAM = """
from fll_hbase.recorder import *

recorder = LineageRecorder("sqlite:///:memory:", namespace="ns", on_error="raise")
run = Run(application="a", program="p", run="r", start_ms=0)
fields = recorder.record(
    Destination("ns", "out", fields={"a", "b", Field("c", "int"), "d"}),
    [
        FieldOperation("read", inputs={Source("ns", "x"), Source("ns", "y")}, outputs={"p", "q", "r", "s"}),
        FieldOperation("mix", inputs=frozenset("pqrs"), outputs={"a", "b", Field("c", "int"), "d"}),
    ],
    run=run,
)
operations = recorder.record(
    Destination("ns", "out"),
    {
        FieldOperation("z read", inputs=Source("ns", "x"), outputs=["p", "q"]),
        FieldOperation("a mix", inputs=["p", "q"], outputs="m"),
        FieldOperation("b mix", inputs=["m", "q"], outputs="n"),
        FieldOperation("c mix", inputs="m", outputs="o"),
    },
    run=run,
)
config = {
    "stages": [
        {"name": "in", "type": "source", "outputSchema": [{"name": name} for name in "abcd"]},
        {"name": "one", "type": "transform"},
        {"name": "two", "type": "transform"},
        {"name": "out", "type": "sink"},
    ],
    "connections": [
        {"from": "in", "to": "one"}, {"from": "one", "to": "two"}, {"from": "two", "to": "out"}
    ],
}
one, two = StageContext("one"), StageContext("two")
one.record_field_mutations({FieldMutation("copy", {name}, {name + "1", name + "2"}) for name in "abcd"})
two.record_operations({FieldOperation(f"sum {name}", "", ["a1", name], name + "3") for name in "bcd"})
stages = recorder.record_pipeline(config, {one, two}, run=run)
print(fields.checksum, operations.checksum, stages.checksum)
"""


def test_hash_seeds_do_not_change_the_checksum() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, 5)
    ]
    printed = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    assert len(printed) == 1
    assert len(set(printed.pop().split())) == 3


def test_a_list_stays_in_its_order() -> None:
    reversed_operations = list(reversed(seed.OPERATIONS))
    assert order_operations(reversed_operations) == tuple(reversed_operations)


READ = FieldOperation("read", inputs=(Source("ns", "x"),), outputs=("p",))


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({FieldOperation("trim", inputs=("p",), outputs=("p",))}, "several operations output 'p'"),
        (
            {
                FieldOperation("one", inputs=("b",), outputs=("a",)),
                FieldOperation("two", inputs=("a",), outputs=("b",)),
            },
            "use the outputs of each other",
        ),
    ],
)
def test_a_set_whose_order_matters_is_refused(others: set[FieldOperation], reason: str) -> None:
    recorder = LineageRecorder("sqlite:///:memory:", namespace="ns")
    outcome = recorder.record(seed.DESTINATION, {READ} | others, run=seed.run())
    assert isinstance(outcome, NotRecorded)
    assert isinstance(outcome.error, UnreadableDocument)
    assert reason in str(outcome.error)
    assert "give a list" in str(outcome.error)
