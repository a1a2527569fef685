"""Schedules by hand about seals: the store keeps their rules, and the mutants that break them are found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from fll_hbase.store.read import run_times
from tests.simulation import mutants, stories
from tests.simulation.checks import Violation
from tests.simulation.simulation import GRACE_MS
from tests.simulation.stories import Scene

STORIES: tuple[Callable[[], Scene], ...] = (
    stories.commit_that_lands_unseen,
    stories.horizon_within_a_day,
    stories.run_recorded_while_its_day_is_sealed,
    stories.purge_of_a_sealed_day,
    stories.run_that_moves_between_pages,
)
MUTANTS = {
    "sealed after one grace": partial(
        stories.commit_that_lands_unseen, mutants.SEALERS["sealed after one grace"]
    ),
    "horizons ignored": partial(stories.horizon_within_a_day, mutants.SEALERS["horizons ignored"]),
    "token after references": partial(
        stories.run_recorded_while_its_day_is_sealed, mutants.SEALERS["token after references"]
    ),
    "purge without touch": partial(
        stories.purge_of_a_sealed_day, sweeper=mutants.SWEEPERS["purge without touch"]
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_seals_are_right_in_the_end(story: Callable[[], Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_times, "PAGE_REFERENCES_MAX", 1)
    scene = story()
    scene.time.leap(3 * GRACE_MS)
    scene.seal()
    assert scene.check()


@pytest.mark.parametrize("rule", sorted(mutants.BY_HAND))
def test_a_dropped_rule_of_seals_is_found(rule: str) -> None:
    with pytest.raises(Violation, match=r"unsound|missealed"):
        MUTANTS[rule]()
