"""A recorder gives the same results with a server as with a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.recorder import (
    Destination,
    FieldOperation,
    LineageRecorder,
    NotRecorded,
    Recorded,
    Source,
    State,
)
from fll_hbase.runtime.errors import InvalidLineage
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import seed_run as seed
from tests.support.commands import serving

ALWAYS = Window(0, START_LIMIT_MS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, LineageStore]]:
    """A server's URL, and the store behind it."""
    home: Path = tmp_path_factory.mktemp("served")
    store = LineageStore(open_table(f"sqlite:///{home}/store.db"))
    with serving(f"sqlite:///{home}/store.db", home) as url:
        yield url, store
    store.close()


@pytest.mark.parametrize("namespace", ["myns", "a/b", "50% | é 🙂", "...", "..", "."])
def test_the_same_lands_as_in_a_store(served: tuple[str, LineageStore], namespace: str) -> None:
    url, store = served
    outcomes = []
    for target in (url, LineageStore(open_table("sqlite:///:memory:"))):
        with LineageRecorder(target, namespace=namespace) as recorder:
            run = seed.run(f"run of {namespace}", state=State.RUNNING)
            for destination in (Destination(namespace, "one"), Destination(namespace, "two")):
                outcomes.append(recorder.record(destination, seed.OPERATIONS, run=run))
            outcomes.append(recorder.record(destination, seed.OPERATIONS, run=run.with_state()))
            outcomes.append(recorder.record(destination, seed.OPERATIONS, run=run.with_state()))
    assert outcomes[:4] == outcomes[4:]
    assert [outcome.recorded for outcome in outcomes[:4] if isinstance(outcome, Recorded)] == [1, 1, 1, 0]
    for name in ("one", "two"):
        (listed,) = store.runs(Dataset(namespace, name), ALWAYS, limit=9).runs
        assert (listed.run.namespace, listed.run.state) == (namespace, State.COMPLETE)


def test_faults_come_back_as_faults(served: tuple[str, LineageStore]) -> None:
    with LineageRecorder(served[0], namespace="myns") as recorder:
        operations = [FieldOperation("x", inputs=["nothing"], outputs=["y"])]
        outcome = recorder.record(seed.DESTINATION, operations, run=seed.run())
    assert isinstance(outcome, NotRecorded)
    assert isinstance(outcome.error, InvalidLineage)
    assert [fault.path for fault in outcome.error.errors] == ["operations.0.inputs.0", "operations"]


@pytest.mark.slow
def test_a_generation_from_no_source_is_refused_as_the_contract_says(
    served: tuple[str, LineageStore],
) -> None:
    with LineageRecorder(served[0], namespace="myns") as recorder:
        operations = [FieldOperation("make", outputs=["id"])]
        assert isinstance(recorder.record(seed.DESTINATION, operations, run=seed.run()), NotRecorded)
        read = FieldOperation("read", inputs=[Source("myns", "a")], outputs=["x"])
        assert isinstance(recorder.record(seed.DESTINATION, [read, *operations], run=seed.run()), Recorded)
