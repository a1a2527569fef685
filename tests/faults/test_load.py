"""A load that failed is complete after a restart: nothing lost, nothing stored twice."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.tables import open_table
from tests.faults import checks
from tests.faults.loading import Input, Load, Rows, count, rejected, rows

pytestmark = pytest.mark.java

RUNS = 4_000
UNDER_WAY = 300

FULL_BYTES = 16 * 2**20
BAD_LINE_BYTES = 5 * 2**20
"""Of four such lines each is smaller than any file may be, and all of them are larger."""


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Input:
    return Input(tmp_path_factory.mktemp("given") / "runs.ndjson", runs=RUNS)


@pytest.fixture(scope="module")
def expected(given: Input) -> Rows:
    return given.rows()


@pytest.fixture
def url(store: Path) -> str:
    return f"sqlite:///{store}"


def assert_complete(store: Path, expected: Rows) -> None:
    """The very rows, in a sound file."""
    with closing(open_table(f"sqlite:///{store}")) as table:
        assert rows(table) == expected
    checks.sound(store)


def test_killed_and_started_again(given: Input, expected: Rows, store: Path, url: str) -> None:
    rejects = store.with_name("rejects")
    with Load(given.path, url, rejects) as load:
        load.gets_under_way(url, runs=UNDER_WAY)
        load.kill()
    assert UNDER_WAY <= count(url) < RUNS
    with Load(given.path, url, rejects) as load:
        code, summary, _ = load.ends()
    assert (code, given.accounted(summary)) == (3, True)
    assert summary["repeated"] >= UNDER_WAY
    assert [line["line"] for line in rejected(rejects)] == given.bad
    assert_complete(store, expected)


def test_workers_killed(given: Input, expected: Rows, store: Path, url: str) -> None:
    """Spark runs their tasks again, in the same load."""
    rejects = store.with_name("rejects")
    with Load(given.path, url, rejects, cores="2, 4") as load:
        load.gets_under_way(url, runs=UNDER_WAY)
        load.kill_the_workers()
        code, summary, complaints = load.ends()
    assert (code, complaints, given.accounted(summary)) == (3, [], True)
    assert summary["repeated"] > 0
    assert [line["line"] for line in rejected(rejects)] == given.bad
    assert_complete(store, expected)


@pytest.mark.long
def test_two_at_once(given: Input, expected: Rows, store: Path, url: str) -> None:
    rejects = [store.with_name(name) for name in ("one", "other")]
    with Load(given.path, url, rejects[0], cores="1") as first, Load(given.path, url, rejects[1]) as second:
        ended = [first.ends(), second.ends()]
    for folder, (code, summary, _) in zip(rejects, ended, strict=True):
        assert (code, given.accounted(summary)) == (3, True)
        assert [first["line"] for first in rejected(folder)] == given.bad
    assert_complete(store, expected)


@pytest.mark.long
def test_no_room_for_rejects(store: Path, url: str) -> None:
    """A full disk, simulated by a file size limit: everything else was recorded before."""
    small_input = Input(store.with_name("few"), runs=50)
    long = [bytes([letter]) * BAD_LINE_BYTES for letter in b"abcd"]
    file = store.with_name("long")
    file.write_bytes(b"\n".join([*long, *small_input.lines]))
    rejects = store.with_name("rejects")
    with Load(file, url, rejects, bytes_max=FULL_BYTES) as load:
        code, summary, complaints = load.ends()
    assert (code, summary) == (1, {})
    (complaint,) = complaints
    assert "File too large" in complaint
    assert_complete(store, small_input.rows())
    with Load(file, url, rejects) as load:
        code, summary, _ = load.ends()
    assert (code, summary["recorded"], summary["rejected"]) == (3, 0, 4 + len(small_input.bad))
    assert [line["value"].encode() for line in rejected(rejects)][:4] == long
    assert_complete(store, small_input.rows())
