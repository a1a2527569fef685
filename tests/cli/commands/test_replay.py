"""`fll replay` records a spool in order, removes what is acknowledged, and can be run again anywhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.recorder.spool import MARKER, Spool, SpoolLimits, open_spool
from tests.support import scripted_server
from tests.support.commands import FLL, complaint, fll
from tests.support.scripted_server import Reply
from tests.support.small_documents import document
from tests.support.waiting import eventually

COUNTS = "{} recorded, {} replaced, {} repeated, {} refused\n"
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2025-10-09T08:00:00Z",
    "producer": "test",
    "run": {"runId": "0199c8a2-0000-7000-8000-000000000000"},
    "job": {"namespace": "shop", "name": "nightly"},
    "inputs": [{"namespace": "shop", "name": "orders"}],
    "outputs": [{"namespace": "shop", "name": "invoices"}],
}


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return open_spool(tmp_path / "spool", SpoolLimits(10_000, 10**9))


def fill(spool: Spool, *documents: Any) -> list[Path]:
    return [spool.write(json.dumps(payload).encode() + b"\n") for payload in documents]


def runs(*target: str) -> dict[str, str]:
    """The states of the runs that wrote invoices."""
    limit = ("--start", "0", "--limit", "10000", "--json")
    body = json.loads(fll("runs", "shop", "invoices", *target, *limit).stdout)
    return {run["run"]: run["state"] for run in body["runs"]}


@pytest.mark.slow
def test_every_document_is_recorded_and_removed(target: tuple[str, str], name: str, spool: Spool) -> None:
    fill(spool, *(document(f"{name} {number}") for number in range(30)), EVENT)
    result = fll("replay", str(spool.path), *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(31, 0, 0, 0))
    assert {f"{name} {number}" for number in range(30)} | {EVENT["run"]["runId"]} <= runs(*target).keys()  # type: ignore[index]
    assert [path.name for path in spool.path.iterdir()] == [MARKER]
    result = fll("replay", str(spool.path), *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(0, 0, 0, 0))


def test_of_the_documents_of_a_run_the_last_one_counts(
    target: tuple[str, str], name: str, spool: Spool
) -> None:
    states = ["RUNNING", "FAIL", "COMPLETE"]
    fill(spool, *({**document(name), "run": {**document(name)["run"], "state": state}} for state in states))
    assert fll("replay", str(spool.path), *target).stdout == COUNTS.format(1, 2, 0, 0)
    assert runs(*target)[name] == "COMPLETE"


def test_documents_that_are_refused_are_set_aside(target: tuple[str, str], name: str, spool: Spool) -> None:
    _, invalid, broken, _ = fill(
        spool, document(name), document(f"{name} bad", operations=[]), "no document", document(f"{name} 2")
    )
    broken.write_bytes(b'{"operations": \x1b[31m')
    result = fll("replay", str(spool.path), *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(2, 0, 0, 2))
    refused = [path.with_suffix(".refused") for path in (invalid, broken)]
    for path, line in zip(refused, result.stderr.splitlines(), strict=True):
        assert line.startswith(f"{path}: ")
    assert "\x1b" not in result.stderr
    assert sorted(spool.path.iterdir()) == sorted([*refused, spool.path / MARKER])
    # It can be corrected, and recorded as any file.
    assert fll("replay", str(spool.path), *target).stdout == COUNTS.format(0, 0, 0, 0)
    refused[0].write_text(json.dumps(document(f"{name} bad")))
    assert fll("record", str(refused[0]), *target).stdout == COUNTS.format(1, 0, 0, 0)


def test_a_document_that_is_too_large_is_set_aside(
    tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_DOCUMENT_BYTES_MAX", "2000")
    fill(spool, document("large", padding="x" * 2_000), document("small"))
    store = f"sqlite:///{tmp_path}/store.db"
    result = fll("replay", str(spool.path), "--store", store)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(1, 0, 0, 1))
    assert "longer than 2000 bytes" in result.stderr
    assert list(runs("--store", store)) == ["small"]


def test_the_line_end_is_no_part_of_a_document(
    tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(spool, document("exact"))
    (written,) = spool.documents()
    monkeypatch.setenv("FLL_DOCUMENT_BYTES_MAX", str(len(written.read_bytes().rstrip(b"\n"))))
    result = fll("replay", str(spool.path), "--store", f"sqlite:///{tmp_path}/store.db")
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(1, 0, 0, 0))


def test_what_was_acknowledged_and_not_removed_is_recorded_once(tmp_path: Path, spool: Spool) -> None:
    paths = fill(spool, *(document(str(number)) for number in range(5)))
    store = f"sqlite:///{tmp_path}/store.db"
    for path in paths[:3]:
        fll("record", str(path), "--store", store)
    assert fll("replay", str(spool.path), "--store", store).stdout == COUNTS.format(2, 0, 3, 0)


@pytest.mark.slow
def test_a_replay_that_is_killed_is_continued_by_the_next(tmp_path: Path, spool: Spool) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    count, remaining = 0, 0
    # On a busy machine a replay may end before it is killed.
    while not remaining:
        first, *_ = fill(spool, *(document(f"run {number}") for number in range(count, 2 * count + 1_600)))
        count = 2 * count + 1_600
        process = subprocess.Popen([FLL, "replay", str(spool.path), "--store", store], stderr=subprocess.PIPE)
        # One file: while all of them are listed, a replay may end.
        eventually(lambda first=first: not first.exists(), "the replay has begun")  # type: ignore[misc]
        process.kill()
        process.communicate(timeout=120)
        remaining = len(spool.documents())
    assert remaining < count
    result = fll("replay", str(spool.path), "--store", store)
    assert result.exit_code == 0
    assert sum(int(part.split()[0]) for part in result.output.split(",")) == remaining
    assert runs("--store", store).keys() == {f"run {number}" for number in range(count)}
    assert spool.documents() == []


def test_without_an_answer_nothing_is_removed(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fll_hbase.cli.options.RECORD_TIMEOUT_SECONDS", 0.2)
    paths = fill(spool, document("1"), document("2"))
    line = complaint("replay", str(spool.path), "--server", "http://127.0.0.1:1", code=1)
    assert "does not answer" in line
    assert f"0 refused; 2 remain, the first is {paths[0]}. Run it again" in line
    assert spool.documents() == paths


@pytest.mark.parametrize("status", [500, 404])
def test_a_server_with_a_fault_of_its_own_ends_the_replay(spool: Spool, status: int) -> None:
    paths = fill(spool, document("1"), document("2"), document("3"))
    lines = [
        {"status": 201, "recorded": True},
        {"status": status, "detail": "odd"},
        {"status": 201, "recorded": True},
    ]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with scripted_server.serving(Reply(200, body)) as server:
        line = complaint("replay", str(spool.path), "--server", server.url, code=1)
    assert f"the server says {status}: odd" in line
    assert f"1 remain, the first is {paths[1]}" in line
    assert spool.documents() == [paths[1]]


def test_one_replay_at_a_time(tmp_path: Path, spool: Spool) -> None:
    fill(spool, document("1"))
    with spool.sending():
        line = complaint("replay", str(spool.path), "--store", f"sqlite:///{tmp_path}/store.db", code=1)
    assert "another process sends the spool" in line
    assert len(spool.documents()) == 1


@pytest.mark.slow
def test_a_directory_that_is_no_spool_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.json").write_text(json.dumps(document()))
    store = f"sqlite:///{tmp_path}/store.db"
    assert "is not a spool" in complaint("replay", str(tmp_path / "photos"), "--store", store, code=2)
    assert "there is no directory" in complaint("replay", str(tmp_path / "phots"), "--store", store, code=2)
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["one.json"]
