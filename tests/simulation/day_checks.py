"""Checks of answers against what run rows said while they were computed.

Days that are sealed or absent equal the run rows at one moment between the beginning and the end of an
answer, all other days do so for each run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Window
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_days import DaysByContent
from fll_hbase.store.read.requested_horizons import restrict_window
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.rows.calendar_rows import DayRuns
from tests.simulation.checks import Violation
from tests.simulation.run_states import State
from tests.support.small_world import BY_CHECKSUM, endpoints_of

Runs: TypeAlias = frozenset[tuple[RunKey, int, bool]]
"""Run id, start and whether it failed, of the runs of a content on a day."""


def check_days(
    times: Mapping[str, RunTimes],
    query: WindowQuery,
    days: DaysByContent | None,
    states: Sequence[State],
    *,
    cutoff_ms: int,
) -> None:
    """Check the runs of each content and day of the window of a query, and that no other content has any.

    References of runs that started before `cutoff_ms` may have been purged. `days` are the days as the query
    read them; None if it read some of them twice.
    """
    contents = touching(query)
    if others := times.keys() - contents:
        raise Violation("false", f"{query}: {sorted(others)} do not have the dataset")
    for checksum in contents:
        listed = list(times[checksum]._newest_first) if checksum in times else []
        for day, window in _days(restrict_window(query.window, cutoff_ms)):
            shown = [part for part in listed if day_of(part.runs[0].start_ms) == day]
            possible = [runs_in(state, checksum, window) for state in states]
            label = f"{query}: {checksum[:4]} on day {day}"
            _check_day(shown, possible, label, window, is_whole=_is_whole(days, checksum, day, shown))
    check_existence(times.keys(), query, states, cutoff_ms=cutoff_ms)


def check_existence(
    shown: Collection[str], query: WindowQuery, states: Sequence[State], *, cutoff_ms: int
) -> None:
    """Check that no content is shown that never had a run, and each of which one run had it always."""
    retained = restrict_window(query.window, cutoff_ms)
    for checksum in touching(query):
        if checksum in shown:
            if not any(runs_in(state, checksum, query.window) for state in states):
                raise Violation("false", f"{query}: {checksum[:4]} is shown and never had a run")
        elif always := _always([runs_in(state, checksum, retained) for state in states]):
            raise Violation("lost", f"{query}: {checksum[:4]} is not shown, and always had {sorted(always)}")


def check_ends(
    ends: Mapping[str, bytes],
    query: WindowQuery,
    checksums: Collection[str],
    states: Sequence[State],
    *,
    cutoff_ms: int,
) -> None:
    """Check the newest reference of each of the contents that were asked for."""
    retained = restrict_window(query.window, cutoff_ms)
    for checksum in checksums:
        possible = [_tails(state, checksum, query.window) for state in states]
        always = set.intersection(*(_tails(state, checksum, retained) for state in states))
        end = ends.get(checksum)
        if end is None:
            if always:
                raise Violation("lost", f"{query}: {checksum[:4]} always had {sorted(always)}")
            continue
        if end not in set.union(*possible):
            raise Violation("false", f"{query}: {checksum[:4]} never had {end!r}")
        if any(tail < end for tail in always):
            raise Violation("disordered", f"{query}: {end!r}, but the ends are of {sorted(always)}")


def touching(query: WindowQuery) -> list[str]:
    """Return the contents that have the dataset of a query in its direction."""
    return [
        checksum
        for checksum, info in BY_CHECKSUM.items()
        if query.dataset in endpoints_of(info, query.direction)
    ]


def runs_in(state: State, checksum: str, window: Window) -> Runs:
    """Return the runs of a content that start in a window."""
    return frozenset(
        (run, counted.start_ms, counted.failed)
        for run, counted in state.items()
        if counted.checksum == checksum
        and counted.start_ms in window
        and (window.failed or not counted.failed)
    )


def _days(window: Window) -> Iterator[tuple[int, Window]]:
    if window.empty:
        return
    for day in range(day_of(window.start_ms), day_of(window.stop_ms - 1) + 1):
        yield day, window.overlap(calendars.day_window(day))


def _is_whole(days: DaysByContent | None, checksum: str, day: int, shown: Sequence[DayRuns]) -> bool:
    """Return whether a day is sealed or absent, so that all its runs are those of one moment."""
    if days is None:
        return False
    if checksum not in days or day not in days[checksum].unsealed:
        seal = days[checksum].sealed.get(day) if checksum in days else None
        sealed = seal.runs(day) if seal else ()
        # Of a seal that has not all runs they were read at another moment, perhaps from references.
        return all(part.is_complete for part in sealed) or not all(part.is_complete for part in shown)
    return False


def _check_day(
    shown: Sequence[DayRuns], possible: Sequence[Runs], label: str, window: Window, *, is_whole: bool
) -> None:
    if not all(part.is_complete for part in shown):
        # A horizon that only the check knows may cut a seal that has not all runs.
        ends = {run.start_ms in window for part in shown for run in (part.runs[0], part.runs[-1])}
        counts = _counts(shown)
        if ends == {True} and counts not in [_counts_of(runs) for runs in possible]:
            raise Violation("miscounted", f"{label}: {counts}, possible are {possible}")
        return
    listed = [
        (run.key, run.start_ms, part.failed) for part in shown for run in part.runs if run.start_ms in window
    ]
    runs = frozenset(listed)
    if is_whole:
        if len(listed) != len(runs) or runs not in possible:
            raise Violation("unsound", f"{label}: {listed} of a seal, or of none, possible are {possible}")
        return
    ids = [run for run, *_ in listed]
    if len(ids) != len(set(ids)):
        raise Violation("twice", f"{label}: {listed}")
    if false := runs - frozenset().union(*possible):
        raise Violation("false", f"{label}: {sorted(false)} never were, possible are {possible}")
    if lost := _always(possible) - set(ids):
        raise Violation("lost", f"{label}: {sorted(lost)} always were, shown are {listed}")


def _always(possible: Sequence[Runs]) -> frozenset[RunKey]:
    """Return the ids of the runs that were there at all moments."""
    return frozenset.intersection(*(frozenset(run for run, *_ in runs) for runs in possible))


def _tails(state: State, checksum: str, window: Window) -> set[bytes]:
    runs = runs_in(state, checksum, window)
    return {layout.reference_tail(start_ms, *run) for run, start_ms, _ in runs}


def _counts(parts: Sequence[DayRuns]) -> dict[bool, tuple[int, int, int]]:
    """Return how many runs failed, and how many did not, with the oldest and the newest start."""
    return {
        failed: (
            sum(part.total for part in alike),
            min(part.runs[-1].start_ms for part in alike),
            max(part.runs[0].start_ms for part in alike),
        )
        for failed in (False, True)
        if (alike := [part for part in parts if part.failed is failed])
    }


def _counts_of(runs: Runs) -> dict[bool, tuple[int, int, int]]:
    return {
        failed: (len(starts), min(starts), max(starts))
        for failed in (False, True)
        if (starts := [start_ms for _, start_ms, has_failed in runs if has_failed is failed])
    }
