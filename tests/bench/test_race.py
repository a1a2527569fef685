"""The race: the store and the tables made by hand give equal answers, and a difference is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from bench.documents import FIRST_DAY_MS
from bench.race import Competitors, compare, record_into_both
from bench.race_questions import KINDS, DifferentAnswers, Kind, Question
from bench.race_workload import YEAR_MS, Shape, Workload
from fll_hbase.model.window import Window

YEAR = Window(FIRST_DAY_MS, FIRST_DAY_MS + YEAR_MS)
SHAPE, RUNS, QUESTIONS = Shape(programs=40, datasets=24, domains=2), 2_000, 10
KINDS_WITH_RUNS = [kind for kind in KINDS if kind.name != "diff"]
DIFF = KINDS[-1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workload() -> Workload:
    return Workload(SHAPE)


@pytest.fixture(scope="module", params=[False, True], ids=["just recorded", "sealed"])
def competitors(
    request: pytest.FixtureRequest, workload: Workload, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Competitors]:
    folder = tmp_path_factory.mktemp("race")
    with record_into_both(workload, RUNS, folder, sealed=request.param) as competitors:
        yield competitors


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_answers_are_equal(kind: Kind, workload: Workload, competitors: Competitors) -> None:
    questions = kind.questions(workload, competitors.contents, QUESTIONS)
    assert len(questions) == QUESTIONS
    assert compare(competitors, kind, questions) > QUESTIONS


@pytest.mark.parametrize("kind", KINDS_WITH_RUNS, ids=lambda kind: kind.name)
def test_a_run_that_is_missing_by_hand_is_found(
    kind: Kind, workload: Workload, competitors: Competitors
) -> None:
    questions = kind.questions(workload, competitors.contents, QUESTIONS)
    question, run = next(
        (question, run) for question in questions for run in _runs(competitors, kind, question)
    )
    with _without(competitors, "run = ?", run), pytest.raises(DifferentAnswers, match=rf"^{kind.name} of "):
        compare(competitors, kind, [question])
    compare(competitors, kind, [question])


def test_runs_that_are_missing_by_hand_differ_between_windows(
    workload: Workload, competitors: Competitors
) -> None:
    questions = DIFF.questions(workload, competitors.contents, QUESTIONS)
    question = next(
        question
        for question in questions
        if not competitors.by_hand.diff(question.field.dataset, question.window, question.base)
    )
    window = question.window
    with (
        _without(competitors, "start >= ? AND start < ?", window.start_ms, window.stop_ms),
        pytest.raises(DifferentAnswers, match=r"^diff of "),
    ):
        compare(competitors, DIFF, [question])


def test_a_year_has_as_many_runs_as_asked_for(workload: Workload) -> None:
    runs = [recorded.run for recorded in workload.runs(RUNS)]
    starts = [run.start_ms for run in runs]
    assert len(runs) == len({run.run for run in runs}) == RUNS
    assert all(start < following for start, following in pairwise(starts))
    assert all(start in YEAR for start in (starts[0], starts[-1]))
    assert {run.program for run in runs} == {program.name for program in workload.programs}
    assert 0 < sum(run.state.failed for run in runs) < RUNS / 10


def test_workloads_of_one_shape_are_equal(workload: Workload) -> None:
    checksums = [content.checksum for program in workload.programs for content in program.contents]
    again = [content.checksum for program in Workload(SHAPE).programs for content in program.contents]
    assert checksums == again
    assert len(set(checksums)) == len(checksums)
    assert {len(program.contents) for program in workload.programs} == {1, 2, 3}


def _runs(competitors: Competitors, kind: Kind, question: Question) -> Iterator[str]:
    """Yield the runs that the answer to a question names."""
    parts = kind.store_parts(kind.ask_store(competitors.client, question))
    for rows in parts.values():
        for value in (value for row in rows for value in row if isinstance(value, str)):
            if competitors.connection.execute("SELECT 1 FROM run WHERE run = ?", (value,)).fetchone():
                yield value


@contextmanager
def _without(competitors: Competitors, condition: str, *parameters: object) -> Iterator[None]:
    """Return a context in which the tables made by hand lack some runs."""
    competitors.connection.execute("BEGIN")
    try:
        competitors.connection.execute(f"DELETE FROM run WHERE {condition}", parameters)
        yield
    finally:
        competitors.connection.execute("ROLLBACK")
