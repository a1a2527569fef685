"""`fll capture check` and `fll capture send`, with everything in order and with faults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fll_hbase.capture import class_cache
from fll_hbase.capture.plan_spool import PlanFile, open_plan_spool
from tests.support.capture import recorded_plans
from tests.support.capture.job_runner import JobRunner
from tests.support.capture.lineage_server import Lineage
from tests.support.capture.slow_server import reserved_port
from tests.support.commands import complaint, fll


@pytest.fixture
def away() -> Iterator[str]:
    """The URL of a server that is not there."""
    with reserved_port() as port:
        yield f"http://127.0.0.1:{port}"


def leave(spool: Path, destination: str, application: str, count: int) -> Path:
    """Leave the plans of an application in a spool."""
    plan_file: PlanFile = open_plan_spool(spool).create(
        destination, "shop", literals=False, bytes_max=10_000_000
    )
    content = b"".join(recorded_plans.lines(count))
    for name in (b"job one", b"local-1795447613671"):
        content = content.replace(name, application.encode())
    plan_file.path.write_bytes(content)
    plan_file.close()
    return plan_file.path


@pytest.mark.java
def test_check_records_a_write_and_shows_its_lineage(tmp_path: Path, server: Lineage) -> None:
    command = ["capture", "check", "--server", server.url, "--namespace", "checked"]
    done = JobRunner(tmp_path).fll(*command, "--spool", str(tmp_path / "spool"))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line[:6] for line in lines] == ["ok    "] * 4
    assert lines[-1] == "ok     write: recorded: number -> doubled"
    assert len(server.runs("fll capture check")) == 2


@pytest.mark.java
@pytest.mark.long
def test_cached_classes_that_the_jvm_refuses_are_compiled_again(
    tmp_path: Path, server: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One application compiles, the next one meets a damaged class, the last one loads what is cached."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["capture", "check", "--server", server.url, "--spool", str(tmp_path / "spool")]
    contents = []
    for number in range(3):
        done = JobRunner(tmp_path).fll(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        (jar,) = (tmp_path / "cache" / "fll-capture").iterdir()
        contents.append((jar.read_bytes(), jar.stat().st_ino))
        if number == 0:
            class_cache.write(jar, {"fll.capture.CaptureListener": b"no class"})
            assert class_cache.is_usable(jar)
    first, second, third = contents
    assert first[0] == second[0]
    assert second == third


@pytest.mark.slow
def test_check_names_every_fault(tmp_path: Path, away: str) -> None:
    (tmp_path / "photo").write_text("mine")
    result = fll("capture", "check", "--server", away, "--spool", str(tmp_path))
    assert result.exit_code == 1
    spool, server = result.stdout.splitlines()
    assert spool.startswith("FAULT  spool: ")
    assert "is not a spool of capture" in spool
    assert server.startswith(f"FAULT  server: {away} does not answer")


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_server_is_needed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLL_CAPTURE_URL", "FLL_SERVER"):
        monkeypatch.delenv(name, raising=False)
    arguments = ["job.py"] if command == "run" else []
    assert "no server: give --server, or set FLL_CAPTURE_URL" in complaint(
        "capture", command, *arguments, code=2
    )


@pytest.mark.slow
def test_send_goes_to_the_server_of_each_application(
    tmp_path: Path, server: Lineage, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fll_hbase.cli.commands.capture.send.RECORD_TIMEOUT_SECONDS", 2.0)
    leave(tmp_path, server.url, "reached", 3)
    left = leave(tmp_path, away, "unreached", 2)
    result = fll("capture", "send", str(tmp_path))
    assert result.exit_code == 1
    assert "does not answer" in result.stderr
    assert "Run it again" in result.stderr
    result = fll("capture", "send", str(tmp_path), "--server", server.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(server.runs("reached")) == 3
    assert len(server.runs("unreached")) == 2
    assert not left.exists()
    assert fll("capture", "send", str(tmp_path)).stdout == "0 events recorded, 0 refused, of 0 applications\n"


def test_send_says_what_may_still_be_written_to(tmp_path: Path, server: Lineage) -> None:
    path = leave(tmp_path, server.url, "young", 2)
    path.write_bytes(path.read_bytes().rpartition(b'{"applicationEnd"')[0])
    assert "1 of them may still be written to" in fll("capture", "send", str(tmp_path)).stdout
    os.utime(path, (0, 0))
    assert "0 events recorded, 0 refused, of 1 application\n" in fll("capture", "send", str(tmp_path)).stdout
    assert not path.exists()


def test_send_needs_a_spool(tmp_path: Path) -> None:
    assert "there is no directory" in complaint("capture", "send", str(tmp_path / "spol"), code=2)
    (tmp_path / "photo.plans").write_text("mine")
    assert "is not a spool of capture" in complaint("capture", "send", str(tmp_path), code=2)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\xff\xfe\n",
        b"null\n[]\n{}\n",
        b'{"application":7}\n{"applicationEnd": 7}\n',
        b"[" * 5_000 + b"\n",
    ],
)
def test_lines_that_are_no_plans_stop_nothing(tmp_path: Path, server: Lineage, content: bytes) -> None:
    path = leave(tmp_path, server.url, "damaged", 0)
    path.write_bytes(content)
    os.utime(path, (0, 0))
    result = fll("capture", "send", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert not path.exists()
