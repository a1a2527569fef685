"""Derivations list the runs of each way page by page, however these are sealed, and count all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import Derivation
from fll_hbase.store.rows.calendar_rows import INLINE_RUNS_MAX
from fll_hbase.tables import open_table
from tests.support.cancellation import cancelled_after
from tests.support.sealing import seal_all

SOURCE, TARGET = Dataset("ns", "s"), Dataset("ns", "t")
FIELD = DatasetField(TARGET, "x")
DAY = 20_000 * DAY_MS
WINDOW = Window(DAY, DAY + 40 * DAY_MS)

RUNS_A_DAY = 2 * INLINE_RUNS_MAX + 9
"""Runs of one way, half of each of two contents: more of each than a seal lists."""


class Recorded(NamedTuple):
    """A run that was recorded: the name of its way, its start and id."""

    way: str
    start_ms: int
    run: str


def document(recorded: Recorded, *, aside: str = "", state: State = State.COMPLETE) -> RecordedRun:
    """A run that makes the field by a transform named as its way; another `aside` is another content."""
    operations = [
        Read("read", "", SOURCE, "", (Field("x"),)),
        Transform(recorded.way, "", (InputField("read", "x"),), (Field("x"),)),
        Transform(f"aside {aside}", "", (InputField("read", "x"),), (Field("y"),)),
        Write("write", "", TARGET, "", (InputField(recorded.way, "x"),)),
    ]
    run = ProgramRun("ns", "app", "", "spark", "copy", recorded.run, recorded.start_ms, state)
    return RecordedRun(run, lineage.build_lineage(operations))


def runs() -> Iterator[tuple[Recorded, RecordedRun]]:
    """Two ways: one has two contents, and days of more runs than a seal lists; the other one run a day."""
    for day in (0, 1, 33):
        for number in range(RUNS_A_DAY):
            recorded = Recorded("often", DAY + day * DAY_MS + number // 2, f"often {day} {number:03}")
            yield recorded, document(recorded, aside=str(number % 2))
        recorded = Recorded("seldom", DAY + day * DAY_MS + 7, f"seldom {day}")
        yield recorded, document(recorded)


@pytest.fixture(params=[False, True], ids=["unsealed", "sealed"])
def store(request: pytest.FixtureRequest) -> Iterator[LineageStore]:
    with closing(LineageStore(open_table("sqlite:///:memory:"))) as store:
        for result in store.record([run for _, run in runs()]):
            assert not isinstance(result, Exception)
        failed = Recorded("often", DAY + 5, "failed")
        store.record([document(failed, aside="0", state=State.FAIL)])
        if request.param:
            seal_all(store.table)
        yield store


def due() -> dict[str, list[str]]:
    """The run ids of each way, newest first, those of one start by id."""
    in_order = sorted((recorded for recorded, _ in runs()), key=lambda item: (-item.start_ms, item.run))
    ways: dict[str, list[str]] = {}
    for recorded in in_order:
        ways.setdefault(recorded.way, []).append(recorded.run)
    return ways


@pytest.mark.parametrize("runs_max", [1, 60, RUNS_A_DAY, 2 * RUNS_A_DAY + 7])
def test_pages_end_at_the_bound_of_runs(store: LineageStore, runs_max: int) -> None:
    """Of days that the bound leaves out the newest run alone may be listed.

    Counts are of all runs of sealed days, and of those that were read of others: the newest of all ways.
    """
    bounded = LineageStore(store.table, replace(store.settings, runs_max=runs_max))
    answer = bounded.field_derivations(FIELD, WINDOW, limit=10_000)
    last = bounded.field_derivations(FIELD, WINDOW, limit=10_000, skip=runs_max)
    assert answer.truncated_by == last.truncated_by == (f"runs_max={runs_max}",)
    assert answer.next_skip == last.next_skip == 0
    is_sealed = seal_all(store.table) == 0
    for derivation in answer.derivations:
        runs = due()[way(derivation)]
        assert [run.run for run in derivation.runs] == runs[: len(derivation.runs)]
        assert 0 < len(derivation.runs) <= runs_max
        assert not is_sealed or derivation.run_count == len(runs)
    if not is_sealed:
        assert sum(derivation.run_count for derivation in answer.derivations) == runs_max
    assert not any(derivation.runs for derivation in last.derivations)


QUERIES: dict[str, Callable[[LineageStore], Any]] = {
    "derivations": lambda store: store.field_derivations(FIELD, WINDOW, limit=300),
    "programs of operations": lambda store: store.field_programs.read(FIELD, WINDOW, Direction.BACKWARD),
    "programs": lambda store: store.programs(TARGET, WINDOW, field="x"),
    "counts": lambda store: store.run_counts(TARGET, Window(DAY, DAY + 100), buckets=50),
}


@pytest.mark.parametrize("name", QUERIES)
def test_an_answer_that_is_cut_anywhere_says_so(store: LineageStore, name: str) -> None:
    complete = QUERIES[name](store)
    assert not complete.truncated_by
    limits = set()
    for checks in range(400):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            answer = QUERIES[name](LineageStore(store.table))
            limits.add(answer.truncated_by)
            assert (answer == complete) is (not answer.truncated_by)
            if answer == complete:
                break
    is_sealed = seal_all(store.table) == 0
    # Times are read all at once; what is read after them may be cut, where anything is.
    may_be_cut = {"programs": not is_sealed, "counts": is_sealed}.get(name, True)
    assert limits == {(), *([("request_seconds=60",)] if may_be_cut else [])}


def way(derivation: Derivation) -> str:
    return next(item.name for item in derivation.operations if isinstance(item, Transform))


@pytest.mark.parametrize("limit", [40, 100, 10_000])
def test_pages_have_every_run_of_each_way_once_and_in_order(store: LineageStore, limit: int) -> None:
    listed: dict[str, list[str]] = {}
    skip = pages = 0
    while skip or not pages:
        answer = store.field_derivations(FIELD, WINDOW, limit=limit, skip=skip)
        assert not answer.truncated_by
        for derivation in answer.derivations:
            assert len(derivation.runs) <= limit
            assert derivation.run_count == len(due()[way(derivation)])
            listed.setdefault(way(derivation), []).extend(run.run for run in derivation.runs)
        skip, pages = answer.next_skip, pages + 1
    assert listed == due()
    assert pages == -(-max(map(len, due().values())) // limit)


def test_failed_runs_are_listed_if_they_count(store: LineageStore) -> None:
    answer = store.field_derivations(FIELD, replace(WINDOW, failed=True), limit=10_000)
    counts = {way(derivation): derivation.run_count for derivation in answer.derivations}
    assert counts == {"often": len(due()["often"]) + 1, "seldom": 3}
    (often,) = (item.runs for item in answer.derivations if way(item) == "often")
    assert "failed" in [run.run for run in often]
