"""A spool is durable, bounded, shared by writers, and touches no file that is not its own."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fll_hbase.recorder.spool import FORMAT, MARKER, Spool, SpoolError, SpoolLimits, open_spool
from fll_hbase.runtime.errors import ConfigurationError

ROOMY = SpoolLimits(files_max=1_000, bytes_max=1_000_000)
UNPRIVILEGED_USER = 65_534

WRITER = """
import sys
from fll_hbase.recorder.spool import SpoolError, SpoolLimits, open_spool

path, writer, files_max = sys.argv[1:]
spool = open_spool(path, SpoolLimits(files_max=int(files_max), bytes_max=10**9))
number = 0
try:
    while True:
        document = f"{writer} {number} " + "x" * 5_000
        print(spool.write(document.encode()).name, flush=True)
        number += 1
        if number == 1:
            sys.stdin.readline()
except SpoolError as error:
    print(error, file=sys.stderr)
"""


def start_writer(path: Path, writer: str, *, files_max: int = 10**6) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), writer, str(files_max)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go_on(*writers: subprocess.Popen[str]) -> list[str]:
    """Wait until each writer has written its first document, then let all go on; return these names."""
    first = []
    for writer in writers:
        assert writer.stdout is not None
        first.append(writer.stdout.readline().strip())
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    return first


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return open_spool(tmp_path / "spool", ROOMY)


def test_documents_are_complete_and_in_order_of_writing(spool: Spool) -> None:
    paths = [spool.write(f"document {number}".encode()) for number in range(20)]
    assert spool.documents() == paths
    assert [path.read_bytes() for path in paths] == [b"document %d" % number for number in range(20)]


def test_only_the_user_may_read_them(spool: Spool) -> None:
    path = spool.write(b"names of tables")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(spool.path.stat().st_mode) == 0o700


def test_it_can_be_opened_again_and_an_empty_directory_becomes_one(tmp_path: Path) -> None:
    first = open_spool(tmp_path, ROOMY).write(b"1")
    assert open_spool(tmp_path, ROOMY, create=False).documents() == [first]
    assert (tmp_path / MARKER).read_text() == FORMAT


def test_a_directory_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "photo.json").write_text("mine")
    names = sorted(os.listdir(tmp_path))
    for create in (True, False):
        with pytest.raises(ConfigurationError, match="is not a spool: there is no file fll-spool in it"):
            open_spool(tmp_path, ROOMY, create=create)
    assert sorted(os.listdir(tmp_path)) == names


def test_files_of_others_in_a_spool_are_neither_counted_nor_touched(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, SpoolLimits(files_max=2, bytes_max=10))
    others = ["notes.json", "00001.json", ".hidden", "x.tmp", "00001795348514731121051-1-zzzzzzzz.json"]
    for name in others:
        (tmp_path / name).write_text("other" * 10)
        os.utime(tmp_path / name, (0, 0))
    first, second = spool.write(b"1"), spool.write(b"2")
    assert spool.documents() == [first, second]
    spool.remove_unfinished()
    assert {path.name for path in tmp_path.iterdir()} == {*others, MARKER, first.name, second.name}


@pytest.mark.parametrize("content", ["fll-hbase spool 2\n", ""])
def test_a_spool_of_another_release_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / MARKER).write_text(content)
    with pytest.raises(ConfigurationError, match="another release"):
        open_spool(tmp_path, ROOMY)


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    for name in ("file", "link", "file/below"):
        with pytest.raises(ConfigurationError, match=r"cannot be a spool: [Nn]ot a directory; name a"):
            open_spool(tmp_path / name, ROOMY)


def test_only_a_writer_creates_the_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no directory"):
        open_spool(tmp_path / "spol", ROOMY, create=False)
    assert not (tmp_path / "spol").exists()


@pytest.mark.parametrize(
    "limits", [SpoolLimits(files_max=3, bytes_max=10**6), SpoolLimits(files_max=10**6, bytes_max=35)]
)
def test_a_full_spool_refuses_until_documents_are_removed(tmp_path: Path, limits: SpoolLimits) -> None:
    spool = open_spool(tmp_path, limits)
    paths = [spool.write(b"0123456789") for _ in range(3)]
    with pytest.raises(SpoolError) as raised:
        spool.write(b"0123456789")
    assert f"is full: 3 of {limits.files_max} files, 30 of {limits.bytes_max} bytes" in str(raised.value)
    assert "`fll replay" in str(raised.value)
    assert "FLL_SPOOL_FILES_MAX" in str(raised.value)
    assert spool.documents() == paths
    spool.remove(paths[0])
    assert spool.write(b"0123456789") in spool.documents()


def test_the_directory_is_listed_a_few_times_for_many_writes(tmp_path: Path) -> None:
    lists: Counter[str] = Counter()
    sys.addaudithook(lambda event, _: lists.update([event] if event == "os.scandir" else []))
    spool = open_spool(tmp_path, SpoolLimits(files_max=400, bytes_max=10**9))
    lists.clear()
    for _ in range(400):
        spool.write(b"x")
    # 8 ln(400) = 48: each look allows to use an eighth of what is free.
    assert lists["os.scandir"] < 60


def test_two_writers_at_once_lose_nothing_and_stay_within_the_limit(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path / "spool", name, files_max=200) for name in ("a", "b")]
    first = go_on(*writers)
    outputs = [writer.communicate(timeout=300) for writer in writers]
    written = [*first, *(name for output, _ in outputs for name in output.split())]
    assert all("is full" in error for _, error in outputs)
    documents = open_spool(tmp_path / "spool", ROOMY).documents()
    assert sorted(written) == [path.name for path in documents]
    # One more than the limit: both may have seen the last free place.
    assert 200 <= len(documents) <= 201
    assert all(len(path.read_bytes()) > 5_000 for path in documents)


def test_a_killed_writer_leaves_complete_documents(tmp_path: Path) -> None:
    writer = start_writer(tmp_path / "spool", "a")
    written = go_on(writer)
    assert writer.stdout is not None
    written += [writer.stdout.readline().strip() for _ in range(50)]
    writer.send_signal(signal.SIGKILL)
    written += writer.communicate(timeout=120)[0].split()
    documents = open_spool(tmp_path / "spool", ROOMY).documents()
    assert {path.name for path in documents} >= set(written)
    assert all(re.fullmatch(r"a \d+ x{5000}", path.read_text()) for path in documents)


def test_what_a_killed_writer_did_not_finish_is_removed_after_an_hour(spool: Spool) -> None:
    unfinished = [spool.write(b"x").with_suffix(".tmp") for _ in range(2)]
    for path in unfinished:
        path.write_bytes(b"incompl")
    os.utime(unfinished[0], (0, 0))
    assert len(spool.documents()) == 2
    spool.remove_unfinished()
    assert [path.exists() for path in unfinished] == [False, True]


def test_one_process_sends_at_a_time_until_it_ends_or_is_killed(spool: Spool) -> None:
    program = """
import sys, time
from fll_hbase.recorder.spool import SpoolLimits, open_spool
with open_spool(sys.argv[1], SpoolLimits(1, 1)).sending():
    print("sending", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", program, spool.path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "sending\n"
    with pytest.raises(SpoolError, match="another process sends the spool"), spool.sending():
        raise AssertionError("two processes send")
    process.kill()
    process.communicate(timeout=120)
    with spool.sending():
        pass
    with spool.sending():
        pass


OPEN = f"""
import os, sys
from fll_hbase.runtime.errors import LineageError
from fll_hbase.recorder.spool import SpoolLimits, open_spool

# Root may write everywhere.
if os.geteuid() == 0:
    os.setuid({UNPRIVILEGED_USER})
try:
    open_spool(sys.argv[1], SpoolLimits(9, 9))
except LineageError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("marked", "reason"), [(True, "read-only"), (False, "Permission denied")])
def test_a_read_only_directory_is_refused(public_path: Path, marked: bool, reason: str) -> None:
    directory = public_path / "spool"
    directory.mkdir()
    if marked:
        (directory / MARKER).write_text(FORMAT)
    directory.chmod(0o555)
    command = [sys.executable, "-c", OPEN, str(directory)]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert completed.stdout.startswith("ConfigurationError")
    assert reason in completed.stdout


def test_a_write_that_fails_leaves_no_file(tmp_path: Path) -> None:
    program = """
import resource, sys
from fll_hbase.recorder.spool import SpoolError, SpoolLimits, open_spool

spool = open_spool(sys.argv[1], SpoolLimits(9, 10**6))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    spool.write(b"x" * 1_000)
except SpoolError as error:
    print(error)
"""
    completed = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "spool"], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in completed.stdout
    assert os.listdir(tmp_path / "spool") == [MARKER]


def test_a_directory_that_vanished_is_reported(spool: Spool) -> None:
    (spool.path / MARKER).unlink()
    spool.path.rmdir()
    with pytest.raises(SpoolError, match="cannot be written: No such file"):
        spool.write(b"x")
    with pytest.raises(SpoolError, match="cannot be read: No such file"):
        spool.documents()


def test_a_document_that_is_reported_as_lost_is_not_replayed(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    synchronize = os.fsync

    def fail_for_directories(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "input/output error")
        synchronize(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail_for_directories)
        with pytest.raises(SpoolError):
            spool.write(b"document")
    assert spool.documents() == []
    assert {path.name for path in spool.path.iterdir()} == {MARKER}
