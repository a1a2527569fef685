"""Faults of servers, disks and processes: every write is recorded once, and the job is as without capture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.capture.job_runner import JobRunner, own_output
from tests.support.capture.lineage_server import Lineage
from tests.support.capture.slow_server import gated, reserved_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.java


@pytest.fixture
def jobs(tmp_path: Path) -> JobRunner:
    return JobRunner(tmp_path)


def test_a_captured_job_is_as_one_without(jobs: JobRunner, server: Lineage) -> None:
    """Its output, its exception with the traceback, and its exit code."""
    captured = jobs.run("raises", 2, "raise", url=server.url)
    plain = jobs.run("plain", 2, "raise")
    assert captured.returncode == plain.returncode == 1
    assert captured.stdout == plain.stdout == "wrote 2 as __main__ of job.py\n"
    assert own_output(captured.stderr) == own_output(plain.stderr)
    assert "RuntimeError: the job fails" in captured.stderr
    assert len(server.runs("raises")) == 3
    assert server.runs("plain") == []
    assert jobs.plans() == []


@pytest.mark.long
def test_an_interrupted_job_is_recorded(jobs: JobRunner, server: Lineage) -> None:
    done = jobs.run("interrupted", 2, "interrupt", url=server.url)
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr
    assert len(server.runs("interrupted")) == 3


def test_threads_and_a_slow_server(jobs: JobRunner, server: Lineage) -> None:
    with gated(server.url, delay_seconds=0.1) as gate:
        done = jobs.run("threads", 30, "exit", "threads", url=gate.url)
    assert done.returncode == 7, done.stderr
    assert len(server.runs("threads")) == 31
    assert jobs.plans() == []


def test_a_server_that_is_back_for_the_next_job(jobs: JobRunner, server: Lineage) -> None:
    """The first job has two contexts; the second one records what they left, and its own."""
    with reserved_port() as port:
        done = jobs.run("first", 8, "exit", "again", url=f"http://127.0.0.1:{port}")
        assert done.returncode == 7, done.stderr
        assert own_output(done.stderr).count("lineage waits in") <= 2
        assert len(jobs.plans()) == 2
        assert server.runs("first") == []
        with gated(server.url, port=port) as gate:
            second = jobs.run("second", 1, "stop", url=gate.url)
            assert second.returncode == 0, second.stderr
    assert len(server.runs("first")) == 9
    assert len(server.runs("second")) == 2
    assert jobs.plans() == []


def test_a_killed_driver_leaves_its_plans(jobs: JobRunner, server: Lineage) -> None:
    with gated(server.url, busy=10**6) as gate:
        done = jobs.run("killed", 10, "kill", url=gate.url)
        assert done.returncode == -9
        assert server.runs("killed") == []
        (path,) = jobs.plans()
        eventually(lambda: b'"applicationEnd"' in path.read_bytes(), "the JVM has ended its file")
        gate.busy = 0
        sent = jobs.send()
    assert sent.returncode == 0, sent.stderr
    assert "11 events recorded, 0 refused, of 1 application" in sent.stdout
    assert len(server.runs("killed")) == 11
    assert jobs.plans() == []


@pytest.mark.long
def test_a_full_spool_is_reported_and_the_job_goes_on(jobs: JobRunner, server: Lineage) -> None:
    bound = {"FLL_CAPTURE_BYTES_MAX": "65536"}
    with gated(server.url, busy=10**6) as gate:
        done = jobs.run("full", 60, "stop", "threads", url=gate.url, **bound)
        assert done.returncode == 0, done.stderr
        assert sum(path.stat().st_size for path in jobs.spool.iterdir()) <= 65_536
        gate.busy = 0
        sent = jobs.send()
    assert sent.returncode == 0, sent.stderr
    assert recorded_and_lost(server, "full") == 61


def test_a_full_disk_is_reported_and_the_job_goes_on(jobs: JobRunner, server: Lineage) -> None:
    """The server is away, too: what is lost is known to the next one that sends."""
    with gated(server.url, busy=10**6) as gate:
        done = jobs.run("disk", 12, "exit", "wide", url=gate.url, file_kib_max=400)
        assert done.returncode == 7, done.stderr
        assert "executions of this application, because the spool was full" in done.stderr
        gate.busy = 0
        sent = jobs.send()
    assert sent.returncode == 0, sent.stderr
    assert recorded_and_lost(server, "disk") == 13
    assert jobs.plans() == []


@pytest.mark.long
def test_a_full_disk_loses_nothing_while_the_server_records(jobs: JobRunner, server: Lineage) -> None:
    """Lines wait in memory until those before them are recorded, also beyond the end of the session."""
    done = jobs.run("room", 30, "stop", "wide", url=server.url, file_kib_max=300)
    assert done.returncode == 0, done.stderr
    assert "not recorded" not in done.stderr
    assert len(server.runs("room")) == 31
    assert jobs.plans() == []


def recorded_and_lost(server: Lineage, application: str) -> int:
    """The number of writes that are recorded, and of those that the run of the application says are lost."""
    recorded = server.runs(application)
    reports = [server.run(run).get("errorMessage", "") for run in recorded]
    (lost,) = [int(match[1]) for text in reports if (match := re.search(r"capture lost (\d+) ex", text))]
    assert lost > 0
    return len(recorded) - 1 + lost


def test_secrets_never_reach_the_spool(jobs: JobRunner, server: Lineage) -> None:
    """Neither those of the URL nor the token; `d > 3` is without its number."""
    with reserved_port() as port:
        url = f"http://anna:s3cret@127.0.0.1:{port}"
        done = jobs.run("secret", 1, "stop", url=url, FLL_TOKEN="fll_t0ken")
    assert done.returncode == 0, done.stderr
    content = b"".join(path.read_bytes() for path in jobs.spool.iterdir())
    assert b"GreaterThan" in content
    assert b"127.0.0.1" in content
    assert not re.search(rb"s3cret|anna|t0ken", content)
    assert not re.search(r"s3cret|t0ken", done.stdout + done.stderr)


@pytest.mark.long
def test_a_small_share_is_enough_for_a_long_job(jobs: JobRunner, server: Lineage) -> None:
    """The file starts again whenever half of its share is recorded."""
    done = jobs.run("long", 80, "stop", "threads", url=server.url, FLL_CAPTURE_BYTES_MAX="65536")
    assert done.returncode == 0, done.stderr
    assert "not recorded" not in done.stderr
    assert len(server.runs("long")) == 81
    assert jobs.plans() == []
