"""A dead, hanging or busy server holds a job for its budget in all, and what cannot be sent is spooled."""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    Spooled,
)
from fll_hbase.recorder.spool import MARKER
from fll_hbase.runtime.errors import InvalidLineage, StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import seed_run as seed
from tests.support.commands import fll
from tests.support.scripted_server import Reply, Scripted, serving
from tests.support.waiting import eventually, patience

ALWAYS = Window(0, START_LIMIT_MS)
BUDGET_SECONDS = 2.0
ATTEMPTS_MAX = 20
"""Far less than one for each run: while nothing answers, each pause between attempts is twice the last."""

DEAD_URL = "http://127.0.0.1:1"
GOOD = Reply(201, b'{"checksum": "c", "run": "r", "recorded": true}')


@contextmanager
def silent_server(answer: bytes = b"") -> Iterator[str]:
    """The URL of a process that accepts connections and never answers, or `answer` five bytes a second."""
    program = f"""
import socket, threading, time
def drip(connection):
    connection.recv(9)
    for byte in {answer!r}:
        connection.send(bytes([byte]))
        time.sleep(0.2)
    time.sleep(999)
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=drip, args=(server.accept()[0],), daemon=True).start()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate(timeout=120)


@contextmanager
def busy_server() -> Iterator[str]:
    with serving(Reply(503, headers={"Retry-After": "1"})) as server:
        yield server.url


@contextmanager
def dead_server() -> Iterator[str]:
    yield DEAD_URL


@contextmanager
def unknown_host() -> Iterator[str]:
    yield "http://no.such.host.invalid:8080"


@contextmanager
def dripping_server() -> Iterator[str]:
    # It takes longer than any test waits.
    with silent_server(b"HTTP/1.1 201 CREATED\r\nX-Long: " + b"x" * 1_000) as url:
        yield url


SERVERS = [dead_server, silent_server, dripping_server, busy_server, unknown_host]


def record_runs(recorder: LineageRecorder, count: int, *, first: int = 0) -> list[object]:
    return [
        recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run(f"run-{number}"))
        for number in range(first, first + count)
    ]


def documents(spool: Path) -> list[Path]:
    return sorted(spool.glob("*.json"))


def run_ids(spool: Path) -> list[str]:
    return [json.loads(path.read_bytes())["run"]["run"] for path in documents(spool)]


def stored_runs(url: str, dataset: Dataset = Dataset("myns", "mytableds")) -> set[str]:  # noqa: B008
    store = LineageStore(open_table(url))
    runs = {listed.run.run for listed in store.runs(dataset, ALWAYS, limit=10_000).runs}
    store.close()
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_all_calls_wait_for_the_budget_in_all(server: object, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with (
        patience(),
        server() as url,
        LineageRecorder(url, namespace="myns", timeout_seconds=BUDGET_SECONDS) as recorder,
    ):  # type: ignore[operator]
        outcomes = record_runs(recorder, 200)
    assert all(isinstance(outcome, NotRecorded) for outcome in outcomes)
    assert all(
        isinstance(outcome.error, StoreUnavailable)
        for outcome in outcomes
        if isinstance(outcome, NotRecorded)
    )
    messages = [record.getMessage() for record in caplog.records if record.name == "fll_hbase.recorder"]
    opened, first, closed = messages
    assert "Further runs are lost" in opened
    assert first.startswith("run 'run-0' was not recorded: http://")
    # A silent server is given up by the wait for data or by that for the whole answer, whichever ends first.
    assert re.search(r"refused|timed out|does not answer within|is busy: 503|not known", first)
    assert closed == "199 runs were not recorded while the server did not answer"


def test_where_failures_are_raised_they_are_raised_at_once() -> None:
    recorder = LineageRecorder(DEAD_URL, namespace="myns", on_error="raise", timeout_seconds=BUDGET_SECONDS)
    with patience():
        for _ in range(50):
            with pytest.raises(StoreUnavailable):
                recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())


def test_a_busy_server_is_asked_now_and_then() -> None:
    with serving(Reply(503)) as server:
        recorder = LineageRecorder(server.url, namespace="myns", timeout_seconds=0.2)
        record_runs(recorder, 200)
        recorder.close()
        assert len(server.requests) <= ATTEMPTS_MAX


@pytest.mark.parametrize("on_error", ["warn", "raise"])
def test_the_spool_has_what_was_not_sent_and_replay_records_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, on_error: str
) -> None:
    spool, store = tmp_path / "spool", f"sqlite:///{tmp_path}/store.db"
    with LineageRecorder(
        DEAD_URL,
        namespace="myns",
        on_error=on_error,
        timeout_seconds=0.2,
        spool=spool,  # type: ignore[arg-type]
    ) as recorder:
        outcomes = record_runs(recorder, 30)
    assert all(isinstance(outcome, Spooled) for outcome in outcomes)
    assert [outcome.path for outcome in outcomes if isinstance(outcome, Spooled)] == documents(spool)
    assert f"runs go to the spool {spool}" in caplog.text
    assert f"30 documents went to the spool: `fll replay {spool}` records them" in caplog.text
    result = fll("replay", str(spool), "--store", store)
    assert (result.exit_code, result.stdout) == (0, "30 recorded, 0 replaced, 0 repeated, 0 refused\n")
    assert stored_runs(store) == {f"run-{number}" for number in range(30)}
    assert [path.name for path in spool.iterdir()] == [MARKER]


def test_the_environment_names_the_spool_and_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FLL_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("FLL_SPOOL_FILES_MAX", "3")
    monkeypatch.setenv("FLL_RECORDER_SECONDS", "0")
    with LineageRecorder(DEAD_URL, namespace="myns") as recorder:
        outcomes = record_runs(recorder, 6)
    assert [type(outcome) for outcome in outcomes] == [Spooled] * 3 + [NotRecorded] * 3
    assert isinstance(outcomes[3], NotRecorded)
    assert "is full: 3 of 3 files" in str(outcomes[3].error)
    assert run_ids(tmp_path / "spool") == ["run-0", "run-1", "run-2"]
    # Once from the spool; runs are not logged while the circuit is open.
    assert caplog.text.count("is full: 3 of 3 files") == 1
    assert "3 runs were not recorded" in caplog.text


def test_an_unusable_spool_is_reported_once_and_runs_are_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "photo.jpg").write_text("mine")
    with serving(GOOD) as server, LineageRecorder(server.url, namespace="myns", spool=tmp_path) as recorder:
        outcomes = record_runs(recorder, 3)
    assert [type(outcome) for outcome in outcomes] == [Recorded] * 3
    assert caplog.text.count("is not a spool") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


@pytest.mark.parametrize("url", ["hppt://127.0.0.1:1", "http://"])
def test_with_a_mistyped_url_runs_go_to_the_spool(tmp_path: Path, url: str) -> None:
    with LineageRecorder(url, namespace="myns", timeout_seconds=0.2, spool=tmp_path / "spool") as recorder:
        outcomes = record_runs(recorder, 2)
    assert [type(outcome) for outcome in outcomes] == [Spooled] * 2
    assert run_ids(tmp_path / "spool") == ["run-0", "run-1"]


@pytest.mark.parametrize("other", [{"namespace": "other"}, {"application": "other"}, {"program": "other"}])
def test_runs_of_two_programs_with_one_id_are_both_in_the_spool(
    tmp_path: Path, other: dict[str, str]
) -> None:
    with LineageRecorder(
        "http://", namespace="myns", timeout_seconds=0.2, spool=tmp_path / "spool"
    ) as recorder:
        for name, members in (("mine", {}), ("theirs", other)):
            recorder.record(Destination("myns", name), seed.OPERATIONS, run=seed.run("1", **members))
    mine, theirs = (json.loads(path.read_bytes()) for path in documents(tmp_path / "spool"))
    assert [document["destination"]["name"] for document in (mine, theirs)] == ["mine", "theirs"]


@pytest.mark.parametrize("reply", [Reply(404, b"<html>"), Reply(500, b"oops"), Reply(401)])
def test_what_a_server_of_another_kind_refuses_goes_to_the_spool(tmp_path: Path, reply: Reply) -> None:
    with serving(reply) as server:
        recorder = LineageRecorder(server.url, namespace="myns", spool=tmp_path / "spool")
        (outcome,) = record_runs(recorder, 1)
        recorder.close()
    assert isinstance(outcome, Spooled)
    assert "check the server URL" in str(outcome.error)


def test_an_invalid_document_is_refused_though_no_server_answers(tmp_path: Path) -> None:
    recorder = LineageRecorder(DEAD_URL, namespace="myns", timeout_seconds=0.2, spool=tmp_path / "spool")
    invalid = [FieldOperation("parse", inputs=["nothing"], outputs=["x"])]
    outcome = recorder.record(seed.DESTINATION, invalid, run=seed.run())
    assert isinstance(outcome, NotRecorded)
    assert isinstance(outcome.error, InvalidLineage)
    assert documents(tmp_path / "spool") == []


def recover(server: Scripted, recorder: LineageRecorder) -> list[object]:
    """Let the server answer, and record other runs until one reaches it."""
    server.replies[:] = [GOOD]
    outcomes: list[object] = []

    def is_recorded() -> bool:
        outcomes.extend(record_runs(recorder, 1, first=1_000 + len(outcomes)))
        time.sleep(0.05)
        return isinstance(outcomes[-1], Recorded)

    eventually(is_recorded, "a run is recorded")
    return outcomes


@pytest.mark.slow
def test_a_server_that_is_back_gets_later_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(Reply(503)) as server:
        recorder = LineageRecorder(server.url, namespace="myns", timeout_seconds=0.2)
        first = record_runs(recorder, 10)
        outcomes = recover(server, recorder)
        recover(server, recorder)
        recorder.close()
    assert all(isinstance(outcome, NotRecorded) for outcome in first)
    assert (
        f"the server answers again; {9 + len(outcomes) - 1} runs were not recorded meanwhile" in caplog.text
    )


@pytest.mark.slow
def test_a_run_in_the_spool_is_replaced_there_and_never_overtaken(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with serving(Reply(503)) as server:
        recorder = LineageRecorder(server.url, namespace="myns", timeout_seconds=0.2, spool=spool)
        names = ["one", "two", "three"]

        def is_recorded(name: str) -> bool:
            outcome = recorder.record(Destination("myns", name), seed.OPERATIONS, run=seed.run("the run"))
            return isinstance(outcome, Recorded)

        assert not is_recorded("one")
        assert not is_recorded("two")
        # One document, the later one: it has both destinations.
        (path,) = documents(spool)
        assert b'"one"' in path.read_bytes()
        assert b'"two"' in path.read_bytes()
        recover(server, recorder)
        # On a busy machine the server may miss the tenth of a second that an attempt has.
        eventually(lambda: is_recorded(names[2]), "the third one is recorded")
        recorder.close()
    assert all(name.encode() in server.requests[-1][1] for name in names)
    assert "the run" not in run_ids(spool)


@pytest.mark.slow
def test_a_run_stays_in_the_spool_while_another_process_sends_it(tmp_path: Path) -> None:
    from fll_hbase.recorder.spool import SpoolLimits, open_spool

    spool = tmp_path / "spool"
    with serving(Reply(503)) as server:
        recorder = LineageRecorder(server.url, namespace="myns", timeout_seconds=0.2, spool=spool)
        record_runs(recorder, 1)
        recover(server, recorder)
        with open_spool(spool, SpoolLimits(9, 9)).sending():
            (outcome,) = record_runs(recorder, 1)
        assert isinstance(outcome, Spooled)
        assert "another process sends" in str(outcome.error)
        # After the replay nothing of the run waits, and the recorder sends it itself.
        for path in documents(spool):
            path.unlink()
        eventually(lambda: isinstance(record_runs(recorder, 1)[0], Recorded), "it is recorded")
        recorder.close()


JOB = """
import sys
from fll_hbase.recorder import *

recorder = LineageRecorder(sys.argv[1], namespace="myns", timeout_seconds=0.2, spool=sys.argv[2])
operations = [FieldOperation("read", inputs=Source("myns", "s"), outputs=["a", "b"])]
for number in range(int(sys.argv[4])):
    run = Run(application="a", program="p", run=f"{sys.argv[3]}-{number}")
    assert isinstance(recorder.record(Destination("myns", "mytableds"), operations, run=run), Spooled)
    print(run.run, flush=True)
recorder.close()
"""


def start_job(spool: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", JOB, DEAD_URL, str(spool), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_job_that_is_killed_loses_no_run_that_it_reported(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", f"sqlite:///{tmp_path}/store.db"
    job = start_job(spool, "a", 10_000)
    assert job.stdout is not None
    reported = [job.stdout.readline().strip() for _ in range(40)]
    job.send_signal(signal.SIGKILL)
    reported += job.communicate(timeout=120)[0].split()
    assert fll("replay", str(spool), "--store", store).exit_code == 0
    assert stored_runs(store) >= set(reported)


@pytest.mark.slow
def test_two_jobs_share_a_spool(tmp_path: Path) -> None:
    spool, store = tmp_path / "spool", f"sqlite:///{tmp_path}/store.db"
    jobs = [start_job(spool, name, 100) for name in ("a", "b")]
    assert {job.wait(120) for job in jobs} == {0}
    result = fll("replay", str(spool), "--store", store)
    assert result.stdout == "200 recorded, 0 replaced, 0 repeated, 0 refused\n"
    assert stored_runs(store) == {f"{name}-{number}" for name in "ab" for number in range(100)}


@pytest.mark.slow
def test_a_job_ends_while_its_last_call_is_abandoned() -> None:
    program = """
import sys
from fll_hbase.recorder import *
recorder = LineageRecorder(sys.argv[1], namespace="ns", timeout_seconds=1)
recorder.record(Destination("ns", "d"), [FieldOperation("r", "", Source("ns", "s"), "a")],
                run=Run(application="a", program="p"))
"""
    with dripping_server() as url:
        subprocess.run([sys.executable, "-c", program, url], check=True, capture_output=True, timeout=120)
