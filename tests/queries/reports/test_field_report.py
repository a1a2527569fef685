"""Reports about a field at the deadline: a part that takes too long is cut, and the others are there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fll_hbase.model.datasets import DatasetField
from fll_hbase.queries.reports.field_report import (
    Consumption,
    ConsumptionAnswer,
    Provenance,
    ProvenanceAnswer,
)
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.cancellation import let_each_look_take_a_second
from tests.support.reach_histories import NOON_MS, chain_field, copy_chain

DEPTH = 20


@pytest.fixture
def store() -> Iterator[LineageStore]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    store.record([run.recorded() for run in copy_chain(DEPTH)])
    yield store
    store.close()


def within(
    store: LineageStore, report: Consumption | Provenance, seconds: int
) -> ConsumptionAnswer | ProvenanceAnswer | None:
    """The report in so many seconds, None if there was not enough time for a part of it."""
    try:
        with deadline.limited(seconds):
            # A store of its own, since contents in memory take no time.
            return report.answer(LineageStore(store.table), now_ms=2 * NOON_MS).body
    except DeadlineExceeded:
        return None


def subject(field: DatasetField) -> dict[str, str]:
    return {
        "namespace": field.dataset.namespace,
        "name": field.dataset.name,
        "field": field.name,
        "start": "0",
    }


def sizes(report: Provenance | Consumption, body: ProvenanceAnswer | ConsumptionAnswer) -> tuple[int, int]:
    """How many fields are within reach, and how many programs the field itself has."""
    if isinstance(body, ProvenanceAnswer):
        return len(body.sources) + len(body.upstream), len(body.programs)
    return len(body.derived or ()), len(body.programs or ())


@pytest.mark.parametrize(
    "report", [Provenance(**subject(chain_field(DEPTH))), Consumption(**subject(chain_field(0)))]
)
def test_a_long_walk_leaves_time_for_the_other_parts(
    store: LineageStore, report: Provenance | Consumption, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_each_look_take_a_second(monkeypatch)
    # The first leaves no time for some part, the last is enough for all of them.
    answers = [body for seconds in (20, 400, 500, 4_000) if (body := within(store, report, seconds))]
    assert len(answers) == 3
    reached = [sizes(report, body)[0] for body in answers]
    assert reached == sorted(reached)
    assert reached[0] < reached[-1] == DEPTH
    for body, size in zip(answers, reached, strict=True):
        assert sizes(report, body)[1] == 1
        assert body.truncated is (size < DEPTH)
