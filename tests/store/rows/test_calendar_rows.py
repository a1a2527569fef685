"""Cells of calendars and ways read back what was put, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars
from fll_hbase.keys.codec import day_of
from fll_hbase.model.runs import ProgramRun, State, run_key
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.rows import calendar_rows, content_rows
from fll_hbase.store.rows.calendar_rows import ContentDay, SealedRun
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Cell, Put, Row
from tests.support.run_keys import committed_run
from tests.support.small_world import CONTENTS
from tests.support.strategies import program_runs

CHECKSUM = CONTENTS[0].checksum
TOKEN = b"0123456789abcdef"


def row_of(puts: list[Put]) -> Row:
    return {put.column: Cell(put.value, 5) for put in puts}


def run(number: int, start_ms: int, *, program: str = "p", failed: bool = False) -> CommittedRun:
    state = State.FAIL if failed else State.COMPLETE
    return committed_run(
        CHECKSUM, ProgramRun("n|s", "app", "1", "t", program, f"run {number}", start_ms, state)
    )


@given(runs=st.lists(program_runs, max_size=6), inline=st.integers(0, 4))
def test_a_seal_lists_the_runs_by_program_newest_first(runs: list[ProgramRun], inline: int) -> None:
    day = day_of(runs[0].start_ms) if runs else 3
    listed = {
        run_key(item.run, item.namespace): committed_run(CHECKSUM, item)
        for item in runs
        if day_of(item.start_ms) == day < 2**32 - 1
    }
    key = ContentDay(CHECKSUM, day)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calendar_rows, "INLINE_RUNS_MAX", inline)
        row = row_of(
            calendar_rows.seal_puts(key, TOKEN, listed.values()) + calendar_rows.touch_puts([key], TOKEN)
        )
    kind = calendars.SEAL if len(listed) <= inline else calendars.STARTS
    sealed = calendar_rows.sealed_day(row, day, kind)
    assert sealed is not None
    assert all(part.is_complete for part in sealed)
    expected = sorted((item.run for item in listed.values()), key=lambda item: -item.start_ms)
    shown = [
        (calendar_rows.decode_program(part.program, item).program_id, part.failed, item)
        for part in sealed
        for item in part.runs
    ]
    assert sorted(shown) == sorted(
        (item.program_id, item.state.failed, SealedRun(item.start_ms, *run_key(item.run, item.namespace)))
        for item in expected
    )
    assert all(
        [item.start_ms for item in part.runs] == sorted((item.start_ms for item in part.runs), reverse=True)
        for part in sealed
    )
    ends = calendar_rows.sealed_day(row, day)
    assert ends is not None
    assert [(part.runs[0], part.runs[-1], part.total) for part in ends] == [
        (part.runs[0], part.runs[-1], part.total) for part in sealed
    ]


def test_runs_that_start_at_once_are_in_the_order_of_their_references() -> None:
    runs = [run(2, 5), run(10, 5), run(1, 9)]
    ((part,),) = [
        calendar_rows.sealed_day(
            row_of(
                calendar_rows.seal_puts(ContentDay(CHECKSUM, 0), TOKEN, runs)
                + calendar_rows.touch_puts([ContentDay(CHECKSUM, 0)], TOKEN)
            ),
            0,
        )
    ]
    assert [item.run for item in part.runs] == ["run 1", "run 10", "run 2"]


@pytest.mark.parametrize("other", [b"0123456789abcdee", b"", b"0123456789abcde"])
def test_a_seal_holds_with_its_token_alone(other: bytes) -> None:
    key = ContentDay(CHECKSUM, 40)
    row = row_of(calendar_rows.seal_puts(key, TOKEN, [run(1, 40 * DAY_MS)]))
    assert calendar_rows.sealed_day(row, 40) is None, "no token"
    for token, holds in ((TOKEN, True), (other, False)):
        touched = row | row_of(calendar_rows.touch_puts([key], token))
        assert (calendar_rows.sealed_day(touched, 40) is not None) is holds


def test_starts_that_are_too_long_for_a_cell_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run(number, number) for number in range(calendar_rows.INLINE_RUNS_MAX + 1)]
    key = ContentDay(CHECKSUM, 0)
    assert len(calendar_rows.seal_puts(key, TOKEN, runs)) == 2
    monkeypatch.setattr(calendar_rows, "CELL_BYTES_MAX", 500)
    (seal,) = calendar_rows.seal_puts(key, TOKEN, runs)
    assert seal.column == calendars.day_column(calendars.SEAL, 0)
    (part,) = calendar_rows.decode_seal(seal.value, 0)
    assert (part.total, len(part.runs), part.is_complete) == (len(runs), 2, False)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b'["0123456789abcdef"]',
        b'["0123456789abcdef",[["p"]]]',
        b'{"a":1}',
        b"\xff",
        b'["a",[[1,0,[]]]]',
        b'["a\xff",[]]',
        b'["0123456789abcdef",[["a|b|c|d|e",0,[]]]]',
        b'["0123456789abcdef",[["a|b|c|d|e",0,[[1,"x"]],-5]]]',
        b'["a",[],' + b"[" * 100_000,
    ],
)
def test_other_values_are_no_seals(value: bytes) -> None:
    with pytest.raises(CorruptRow, match="is not a seal"):
        calendar_rows.decode_seal(value, 0)


def test_ways_name_every_end_of_a_content() -> None:
    info = CONTENTS[4]
    puts = list(calendar_rows.way_puts(info.checksum, 7, content_rows.encode_content(info).endpoints))
    tail = calendars.way_tail(7, info.checksum)
    assert {put.row for put in puts} == {
        *(calendars.ways_prefix(Direction.BACKWARD, dataset) + tail for dataset in info.destinations),
        *(calendars.ways_prefix(Direction.FORWARD, dataset) + tail for dataset in info.sources),
    }
    assert all(calendars.parse_way(put.row) == (7, info.checksum) for put in puts)


def test_tokens_differ() -> None:
    assert len({calendar_rows.new_token() for _ in range(1_000)}) == 1_000
