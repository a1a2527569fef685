"""A spool of plans is bounded, shared by applications, and touches no file that is not its own."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fll_hbase.capture.plan_delivery import PlanLines
from fll_hbase.capture.plan_spool import PlanFile, PlanSpool, PlanSpoolError, open_plan_spool
from fll_hbase.runtime.errors import ConfigurationError
from tests.support.capture import recorded_plans

URL = "http://lineage:8080"
BYTES = 1_000_000


def create(spool: PlanSpool, *, bytes_max: int = BYTES) -> PlanFile:
    return spool.create(URL, "shop", literals=False, bytes_max=bytes_max)


@pytest.fixture
def spool(tmp_path: Path) -> PlanSpool:
    return open_plan_spool(tmp_path / "spool")


def test_only_the_user_may_read_what_is_in_it(spool: PlanSpool) -> None:
    create(spool).refuse([b"{}"])
    assert stat.S_IMODE(spool.path.stat().st_mode) == 0o700
    names = sorted(spool.path.iterdir())
    assert {path.suffix for path in names} == {"", ".plans", ".head", ".ack", ".refused"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in names} == {0o600}


def test_a_directory_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "report.plans").write_text("mine")
    with pytest.raises(ConfigurationError, match="is not a spool of capture: there is no file fll-capture"):
        open_plan_spool(tmp_path)
    assert os.listdir(tmp_path) == ["report.plans"]


def test_files_of_others_in_a_spool_are_neither_sent_nor_counted_nor_removed(spool: PlanSpool) -> None:
    others = ["notes.plans", "1.head", "00001763812345678901234-1-zzzzzzzz.head", "x.refused"]
    for name in others:
        (spool.path / name).write_text("other" * 1_000)
    assert create(spool, bytes_max=10_000).head.bytes_max == 5_000
    assert list(spool.left(None)) == []
    assert spool.refused() == []
    assert set(others) < set(os.listdir(spool.path))


def test_files_belong_to_their_process_until_it_ends(spool: PlanSpool) -> None:
    program = """
import sys, time
from pathlib import Path
from fll_hbase.capture.plan_spool import open_plan_spool
spool = open_plan_spool(Path(sys.argv[1]))
plan_file = spool.create("http://lineage:8080", "shop", literals=True, bytes_max=10**6)
print(plan_file.path, flush=True)
time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(spool.path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    path = Path(process.stdout.readline().strip())
    assert list(spool.left(URL)) == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(spool.left("http://another:8080")) == []
    (left,) = spool.left(URL)
    assert (left.path, left.head.namespace, left.head.literals) == (path, "shop", True)
    assert list(spool.left(URL)) == []  # this process has it now
    left.remove()
    assert os.listdir(spool.path) == ["fll-capture"]


def test_acknowledged_bytes_and_refused_events_outlive_the_process(spool: PlanSpool) -> None:
    plan_file = create(spool)
    plan_file.path.write_bytes(b"".join(recorded_plans.lines(3)))
    plan_file.acknowledge(1_234)
    plan_file.refuse([b'{"a": 1}'])
    plan_file.refuse([b'{"b": 2}'])
    plan_file.close()
    (again,) = spool.left(URL)
    assert again.acknowledged() == 1_234
    again.remove()
    assert [path.read_bytes() for path in spool.refused()] == [b'{"a": 1}\n{"b": 2}\n']


def test_applications_share_the_space_and_never_exceed_it(spool: PlanSpool) -> None:
    running = [create(spool, bytes_max=80_000) for _ in range(6)]
    shares = [plan_file.head.bytes_max for plan_file in running]
    assert shares[0] == 40_000
    assert shares == sorted(shares, reverse=True)
    assert sum(plan_file.head.bytes_max for plan_file in running) <= 80_000
    running[0].remove()
    assert create(spool, bytes_max=80_000).head.bytes_max >= 20_000


def test_what_a_full_spool_has_leaves_no_space(spool: PlanSpool) -> None:
    full = create(spool)
    full.path.write_bytes(b"x" * 1_000)
    full.close()
    assert create(spool, bytes_max=1_000).head.bytes_max == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"destination": 1}', "\udcff"])
def test_a_head_that_was_never_complete_is_left_alone(spool: PlanSpool, content: str) -> None:
    plan_file = create(spool)
    head = plan_file.path.with_suffix(".head")
    head.write_bytes(content.encode(errors="surrogateescape"))
    plan_file.close()
    assert list(spool.left(None)) == []
    assert spool.destinations() == []


def test_a_spool_that_is_gone_is_an_error(spool: PlanSpool) -> None:
    (spool.path / "fll-capture").unlink()
    spool.path.rmdir()
    with pytest.raises(PlanSpoolError, match="No such file"):
        create(spool)
    with pytest.raises(PlanSpoolError, match="cannot be read"):
        list(spool.left(None))


@pytest.mark.parametrize(("module", "call"), [(fcntl, "flock"), (os, "pwrite"), (os, "fsync")])
def test_files_that_cannot_all_be_created_leave_nothing(
    spool: PlanSpool, monkeypatch: pytest.MonkeyPatch, module: ModuleType, call: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(module, call, refuse)
    with pytest.raises(PlanSpoolError, match="disk full"):
        create(spool)
    assert os.listdir(spool.path) == ["fll-capture"]
    open_files = [os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()]
    assert not [name for name in open_files if name.startswith(str(spool.path))]


def test_only_complete_lines_are_read_whatever_their_length(tmp_path: Path) -> None:
    path = tmp_path / "plans"
    path.write_bytes(b"")
    content = b"".join(recorded_plans.lines(40)) + b"x" * 50_000 + "\u2028\r".encode() + b"\ny\n"
    process = recorded_plans.append(path, content + b"unfinished", pause_seconds=0.001)
    reader = PlanLines(path)
    read: list[tuple[int, bytes]] = []
    while process.poll() is None:
        read += reader.read(4_096)
    while part := reader.read(4_096):
        read += part
    assert [line for _, line in read] == content.split(b"\n")[:-1]
    ends = [end for end, _ in read]
    assert ends[-1] == len(content)
    assert [content[end - 1 : end] for end in ends] == [b"\n"] * len(ends)
