"""Keys of the run index: distinct, newest first, parsed in one way only, and short."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fll_hbase.keys import layout
from fll_hbase.keys.codec import pack_run, unpack_run
from fll_hbase.keys.row_kinds import is_known
from fll_hbase.runtime.errors import CorruptRow
from tests.support.strategies import names, starts, windows

UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"
BYTES_MAX = 70
"""Of one run in SQLite: key, column, value, timestamp, and what the page adds."""

uuids = st.uuids().map(str)
runs = (
    names | uuids | st.sampled_from((UUID, UUID.upper(), UUID.replace("-", ""), f"+{UUID}", "+", UUID[:-1]))
)


def key(namespace: str, start_ms: int, run: str) -> bytes:
    return layout.run_index_prefix(namespace) + layout.run_index_tail(start_ms, run)


@given(runs, names | st.just(""))
@example("00000000-0000-0000-0000-000000000000", "")
@example("ffffffff-ffff-ffff-ffff-ffffffffffff", "")
def test_a_packed_run_is_unpacked(run: str, namespace: str) -> None:
    assert unpack_run(pack_run(run, namespace)) == (run, namespace)
    assert b"|" not in pack_run(run, namespace)


@given(uuids, uuids)
def test_packed_uuids_sort_as_uuids(left: str, right: str) -> None:
    assert (pack_run(left) < pack_run(right)) == (left < right)


@given(st.binary(max_size=30) | st.from_regex(rb"\+[-0-9A-Z_a-z+/=]{20,24}|[a+]{1,5}", fullmatch=True))
@example(UUID.encode())
@example(pack_run(UUID) + b"=")
def test_a_segment_is_read_in_one_way_only(segment: bytes) -> None:
    try:
        run = unpack_run(segment)
    except CorruptRow:
        return
    assert pack_run(*run) == segment


@given(names, starts, runs, names, starts, runs)
def test_distinct_runs_have_distinct_keys(
    left: str, left_ms: int, left_run: str, right: str, right_ms: int, right_run: str
) -> None:
    same = (left, left_ms, left_run) == (right, right_ms, right_run)
    assert (key(left, left_ms, left_run) == key(right, right_ms, right_run)) == same


@given(names, starts, runs, windows)
def test_a_window_has_the_keys_of_its_starts(namespace: str, start_ms: int, run: str, window: object) -> None:
    newest, oldest = layout.start_bounds(window)  # type: ignore[arg-type]
    tail = layout.run_index_tail(start_ms, run)
    assert (newest <= tail < oldest) == (start_ms in window)  # type: ignore[operator]
    assert layout.parse_run_index_tail(tail) == (start_ms, (run, ""))
    assert layout.split_run_index_key(key(namespace, start_ms, run)) == (
        layout.run_index_prefix(namespace)[2:-1],
        tail,
    )


@given(names)
def test_the_column_of_a_program_is_known(program: str) -> None:
    assert is_known(layout.RUN_INDEX, layout.run_index_column(program))


@pytest.mark.parametrize("run", [UUID, "nightly-2026-11-01"])
def test_a_run_takes_few_bytes(run: str, tmp_path: Path) -> None:
    """The file of the index of many runs, packed, divided by their number."""
    count = 20_000
    numbered = (f"{number:08x}{run[8:]}" for number in range(count))
    with sqlite3.connect(tmp_path / "cells.db") as connection:
        connection.execute(
            "CREATE TABLE cells (row BLOB NOT NULL, column BLOB NOT NULL, value BLOB NOT NULL,"
            " stamp INTEGER NOT NULL, PRIMARY KEY (row, column)) WITHOUT ROWID"
        )
        rows = (
            (key("retail", 1_790_000_000_000, name), b"d:n1a", b"", 1_790_000_000_000) for name in numbered
        )
        connection.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", rows)
    connection.execute("VACUUM")
    connection.close()
    assert (tmp_path / "cells.db").stat().st_size / count <= BYTES_MAX
