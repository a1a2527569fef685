"""The thread of an application records every line once, whatever the server does meanwhile."""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.capture.plan_delivery import send_left
from fll_hbase.capture.plan_spool import Losses, PlanSpool, open_plan_spool
from fll_hbase.capture.worker import CaptureWorker
from fll_hbase.client.remote.http_session import HttpSession
from tests.support.capture import recorded_plans
from tests.support.capture.lineage_server import Lineage
from tests.support.capture.process_listener import ProcessListener, lines
from tests.support.capture.slow_server import gated, reserved_port
from tests.support.commands import serving
from tests.support.waiting import eventually

SECONDS = 120.0


@pytest.fixture
def spool(tmp_path: Path) -> PlanSpool:
    return open_plan_spool(tmp_path / "spool")


def start(
    spool: PlanSpool,
    url: str,
    content: bytes,
    *,
    pause_seconds: float = 0.0,
    dropped: int = 0,
    missed: int = 0,
) -> tuple[CaptureWorker, ProcessListener]:
    plan_file = spool.create(url, "shop", literals=False, bytes_max=10**8)
    process = recorded_plans.append(plan_file.path, content, pause_seconds=pause_seconds)
    listener = ProcessListener(process, dropped, missed)
    client = HttpSession(url, timeout_seconds=0.0)
    return CaptureWorker(spool, plan_file, listener, client), listener


def names(spool: PlanSpool) -> set[str]:
    return {path.suffix for path in spool.path.iterdir()} - {""}


@pytest.mark.slow
def test_lines_are_recorded_as_they_come(spool: PlanSpool, server: Lineage) -> None:
    worker, _ = start(spool, server.url, lines("come", 60), pause_seconds=0.002)
    assert worker.flush(SECONDS)
    assert worker.close(SECONDS)
    assert len(server.runs("come")) == 60
    assert names(spool) == set()


def test_a_flush_waits_for_what_the_listener_has(spool: PlanSpool, server: Lineage) -> None:
    worker, listener = start(spool, server.url, lines("queue", 2, is_ended=False))
    listener.is_busy = True
    assert not worker.flush(0.5)
    listener.is_busy = False
    assert worker.flush(SECONDS)
    assert worker.close(SECONDS)
    assert len(server.runs("queue")) == 2


def test_an_end_without_a_last_line_records_everything(spool: PlanSpool, server: Lineage) -> None:
    worker, listener = start(spool, server.url, lines("noend", 3, is_ended=False))
    assert worker.close(SECONDS)
    assert listener.calls == ["wait", "stop", "disconnect"]
    assert len(server.runs("noend")) == 3
    assert names(spool) == set()


@pytest.mark.slow
@pytest.mark.parametrize("delay_seconds", [0.1, 5.0])
def test_a_slow_server_gets_everything(spool: PlanSpool, server: Lineage, delay_seconds: float) -> None:
    application = f"slow{delay_seconds}"
    with gated(server.url, delay_seconds=delay_seconds) as gate:
        worker, _ = start(spool, gate.url, lines(application, 300), pause_seconds=0.002)
        assert worker.flush(SECONDS)
        assert worker.close(SECONDS)
    assert len(server.runs(application)) == 300


@pytest.mark.slow
def test_a_busy_server_is_left_alone_for_as_long_as_it_wants(spool: PlanSpool, server: Lineage) -> None:
    with gated(server.url, busy=2) as gate:
        worker, _ = start(spool, gate.url, lines("busy", 20))
        assert worker.close(SECONDS)
    # On a busy machine the worker reads the lines in two parts.
    first, second, third = gate.times[:3]
    assert second - first >= 1.0
    assert third - second >= 1.0
    assert len(server.runs("busy")) == 20


@pytest.mark.slow
def test_a_server_that_is_away_does_not_hold_up_the_end(
    spool: PlanSpool, server: Lineage, caplog: pytest.LogCaptureFixture
) -> None:
    with reserved_port() as port:
        worker, _ = start(spool, f"http://127.0.0.1:{port}", lines("away", 50))
        assert not worker.flush(0.3)
        assert not worker.close(1.0)
        assert len([record for record in caplog.records if "lineage waits in" in record.message]) == 1
        assert names(spool) == {".plans", ".head", ".ack"}
        eventually(lambda: worker.is_done, "the worker ends")
        with gated(server.url, port=port) as gate:
            following, _ = start(spool, gate.url, lines("following", 1, is_ended=False))
            eventually(lambda: len(list(spool.path.glob("*.plans"))) == 1, "what was left is sent")
            assert following.close(SECONDS)
    assert len(server.runs("away")) == 50
    assert len(server.runs("following")) == 1


def test_a_server_that_never_answers_is_one_warning(
    spool: PlanSpool, caplog: pytest.LogCaptureFixture
) -> None:
    """No attempt has failed yet when the application ends."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        worker, _ = start(spool, f"http://127.0.0.1:{hanging.getsockname()[1]}", lines("hanging", 5))
        assert not worker.flush(0.2)
        assert caplog.records == []
        assert not worker.close(0.2)
        (record,) = caplog.records
    assert record.message == f"lineage waits in {spool.path}, and is sent later: capture ends first"
    eventually(lambda: worker.is_done, "the worker ends")
    assert names(spool) == {".plans", ".head", ".ack"}


def test_what_was_acknowledged_is_not_sent_again(spool: PlanSpool, server: Lineage) -> None:
    content = recorded_plans.lines(10)
    plan_file = spool.create(server.url, "shop", literals=False, bytes_max=10**8)
    plan_file.path.write_bytes(b"".join(content))
    plan_file.acknowledge(sum(map(len, content[:8])))
    plan_file.close()
    with closing(HttpSession(server.url)) as client:
        (*_, delivery) = send_left(spool, client, destination=server.url)
    assert (delivery.sent, delivery.is_complete) == (3, True)
    assert len(server.runs("job one")) == 3


def test_a_file_that_may_still_be_written_to_stays(spool: PlanSpool, server: Lineage) -> None:
    plan_file = spool.create(server.url, "shop", literals=False, bytes_max=10**8)
    plan_file.path.write_bytes(lines("young", 4, is_ended=False) + b'{"unfinished')
    plan_file.close()
    with closing(HttpSession(server.url)) as client:
        (*_, delivery) = send_left(spool, client, destination=server.url)
        assert (delivery.sent, delivery.is_complete) == (4, False)
        os.utime(plan_file.path, (0, 0))
        (*_, delivery) = send_left(spool, client, destination=server.url)
    assert delivery.is_complete
    assert names(spool) == set()
    assert len(server.runs("young")) == 4


def test_executions_that_are_in_no_line_are_reported(
    spool: PlanSpool, server: Lineage, caplog: pytest.LogCaptureFixture
) -> None:
    worker, _ = start(spool, server.url, lines("full", 2, is_ended=False), dropped=7)
    assert worker.close(SECONDS)
    assert "not recorded are 7 executions of this application, because the spool was full" in caplog.text
    reports = [server.run(run).get("errorMessage") for run in server.runs("full")]
    assert "capture lost 7 executions of this application, because the spool was full" in reports


def test_executions_that_spark_dropped_are_reported(spool: PlanSpool, server: Lineage) -> None:
    """By the listener at the end of capture, and by the last line of an application that is sent later."""
    worker, _ = start(spool, server.url, lines("missed", 2, is_ended=False), dropped=1, missed=3)
    assert worker.close(SECONDS)
    end = b'{"applicationEnd":{"time":1,"dropped":0,"missed":4}}\n'
    plan_file = spool.create(server.url, "shop", literals=False, bytes_max=10**8)
    plan_file.path.write_bytes(lines("missed later", 1, is_ended=False) + end)
    plan_file.close()
    with closing(HttpSession(server.url)) as client:
        assert list(send_left(spool, client, destination=server.url))[-1].is_complete
    text = "executions of this application: Spark dropped their events, as the queue of the listener was full"
    (first,) = _reports(server, "missed")
    assert first.startswith(
        "capture lost 1 executions of this application, because the spool was full; up to 3 " + text
    )
    (second,) = _reports(server, "missed later")
    assert second.startswith("capture lost up to 4 " + text)


def _reports(server: Lineage, application: str) -> list[str]:
    texts = (server.run(run).get("errorMessage") for run in server.runs(application))
    return [text for text in texts if text]


def test_a_spool_of_an_earlier_release_has_one_number_of_losses(spool: PlanSpool) -> None:
    plan_file = spool.create("http://lineage", "shop", literals=False, bytes_max=10**8)
    (path,) = spool.path.glob("*.ack")
    path.write_bytes(b"%020d\n%020d\n" % (17, 5))
    assert plan_file.acknowledged() == 17
    assert plan_file.losses() == Losses(unwritten=5)
    plan_file.close()


@pytest.mark.slow
def test_a_request_that_is_too_large_is_sent_in_parts(
    spool: PlanSpool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server accepts requests of four events; one event that is too large for it is set aside."""
    monkeypatch.setenv("FLL_DOCUMENT_BYTES_MAX", "10000")
    monkeypatch.setenv("FLL_BATCH_BYTES_MAX", "10000")
    with serving(f"sqlite:///{tmp_path}/small.db", tmp_path) as url:
        server = Lineage(url)
        wide = json.dumps(recorded_plans.execution(1, target="/data/" + "x/" * 6_000)).encode() + b"\n"
        content = lines("large", 40, is_ended=False) + wide
        with gated(url) as gate:
            worker, _ = start(spool, gate.url, content + lines("large", 0).splitlines()[-1] + b"\n")
            assert worker.close(SECONDS)
        assert len(server.runs("large")) == 40
        assert len(gate.times) > 20
    (refused,) = spool.refused()
    assert len(refused.read_bytes().splitlines()) == 1


def test_a_refused_event_is_set_aside_and_the_others_are_recorded(
    spool: PlanSpool, server: Lineage, caplog: pytest.LogCaptureFixture
) -> None:
    """A dataset with a name that is too long for the server."""
    long = recorded_plans.execution(1, target="/data/" + "x" * 5_000)
    content = lines("long", 1, is_ended=False) + json.dumps(long).encode() + b"\n"
    worker, _ = start(spool, server.url, content + lines("long", 0).splitlines()[-1] + b"\n")
    assert worker.close(SECONDS)
    assert len(server.runs("long")) == 1
    (refused,) = spool.refused()
    (event,) = refused.read_bytes().splitlines()
    assert json.loads(event)["outputs"][0]["name"].endswith("xxx")
    assert "the server refused lineage" in caplog.text
    assert str(refused) in caplog.text


@pytest.mark.slow
def test_a_worker_is_replaced_without_waiting_for_its_server(spool: PlanSpool) -> None:
    """Its file has all that Spark executed until then, and nothing else."""
    with reserved_port() as port:
        worker, listener = start(spool, f"http://127.0.0.1:{port}", lines("a", 2, is_ended=False))
        worker.replace(600)
        assert not worker.is_done
        assert listener.calls[-1] == "stop"
        assert not worker.close(0)
    assert names(spool) == {".plans", ".head", ".ack"}
