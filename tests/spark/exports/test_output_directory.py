"""Jobs replace their own output, completely or not at all, and never anybody else's file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.spark.exports import output_directory
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory, is_subdirectory
from fll_hbase.spark.exports.output_directory import MANIFEST, NEW, REJECTS, OutputDirectory, Owner, claim

OWNER = Owner(REJECTS, "load")
BESIDE = "beside"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def output(folder: Path) -> dict[str, bytes]:
    """The files that readers see: not those whose names begin with `_` or `.`."""
    visible = contents(folder).items()
    return {path: raw for path, raw in visible if not any(name[0] in "_." for name in path.split("/"))}


def write(directory: OutputDirectory, files: dict[str, bytes], *, fail: bool = False) -> None:
    """Replace the output, as a job does."""
    with directory.replacing() as url:
        write_files(local(url), files)
        if fail:
            raise KeyError


def local(url: str) -> Path:
    return Path(url.removeprefix("file:"))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for path, raw in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)


FIRST = {"part-1": b"first", "runs/day=1/part-1": b"first", "runs/day=1/part-2": b"more"}
SECOND = {"part-2": b"second", "runs/day=1/part-3": b"second"}


def test_new_output_replaces_the_last(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b: 100%"
    write(claim(spark, str(folder), OWNER), FIRST)
    assert output(folder) == FIRST
    directory = claim(spark, str(folder), OWNER)
    assert [file.path for file in directory.files()] == sorted(FIRST)
    write(directory, SECOND)
    assert output(folder) == SECOND
    directory = claim(spark, str(folder), OWNER)
    directory.clear()
    assert output(folder) == {}
    assert sorted(name.partition("-")[0] for name in contents(folder)) == [REJECTS, "_fll_files"]
    assert directory.files() == []


def test_the_last_output_stays_until_the_new_is_complete(spark: SparkSession, tmp_path: Path) -> None:
    directory = claim(spark, str(tmp_path), OWNER)
    write(directory, FIRST)
    previous = contents(tmp_path)
    with pytest.raises(KeyError):
        write(directory, {"part-9": b"half", "_temporary/0/x": b"half"}, fail=True)
    assert contents(tmp_path) == previous


class _Killed(BaseException):
    pass


CHANGES = ("move", "delete", "write", "create")
"""What changes a directory; between any two of them a job may be killed."""


def kill_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Let a job change a directory so many times."""
    remaining = iter(range(steps))

    def limit(name: str) -> Any:
        change = getattr(HadoopDirectory, name)

        def limited(self: HadoopDirectory, *arguments: Any) -> None:
            if next(remaining, None) is None:
                raise _Killed
            change(self, *arguments)

        return limited

    for name in CHANGES:
        monkeypatch.setattr(HadoopDirectory, name, limit(name))
    # A killed process does not clean up.
    monkeypatch.setattr(OutputDirectory, "_discard", lambda *_: None)


def test_killed_anywhere_the_next_job_finds_the_last_output_or_the_new(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, steps = [], 0
    while True:
        folder = tmp_path / str(steps)
        directory = claim(spark, str(folder), OWNER)
        write(directory, FIRST)
        with monkeypatch.context() as patched:
            kill_after(patched, steps)
            try:
                write(directory, SECOND)
                break
            except _Killed:
                pass
        claim(spark, str(folder), OWNER)
        results.append(output(folder))
        assert results[-1] in (FIRST, SECOND)
        write(claim(spark, str(folder), OWNER), {"part-0": b"third"})
        assert output(folder) == {"part-0": b"third"}
        steps += 1
    assert results == sorted(results, key=lambda result: result == SECOND)
    assert FIRST in results
    assert SECOND in results


def test_a_move_that_copies_may_be_interrupted(spark: SparkSession, tmp_path: Path) -> None:
    """As on an object store: some files are in both directories, some in either."""
    write_files(tmp_path / "source", {"x/1": b"1", "x/2": b"22", "y": b"3"})
    write_files(tmp_path / "target", {"x/1": b"1", "x/0": b"0"})
    directory = HadoopDirectory(spark, str(tmp_path))
    directory.move("source", "target")
    assert contents(tmp_path) == {
        "target/x/0": b"0",
        "target/x/1": b"1",
        "target/x/2": b"22",
        "target/y": b"3",
    }
    write_files(tmp_path, {"source": b"other"})
    with pytest.raises(LineageError, match="in the way"):
        directory.move("source", "target/y")


@pytest.mark.parametrize(
    "name", ["part-0.parquet", "_SUCCESS", ".hidden", ".x.crc", "_delta_log/0.json", "_FLL_EXPORT"]
)
def test_a_directory_without_our_marker_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {name: b"mine"})
    with pytest.raises(ConfigurationError, match=f"'{name.partition('/')[0]}' and no {REJECTS}"):
        claim(spark, str(tmp_path), OWNER)
    assert contents(tmp_path) == {name: b"mine"}


def test_other_markers_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_files(
        tmp_path, {f"a/{REJECTS}": b"{", f"b/{REJECTS}": json.dumps({"version": 2, "source": ""}).encode()}
    )
    for name, message in (("a", "not a marker"), ("b", "later release")):
        with pytest.raises(ConfigurationError, match=message):
            claim(spark, str(tmp_path / name), OWNER)
    claim(spark, str(tmp_path / "c"), Owner(REJECTS, "stream", "checkpoint 1"))
    with pytest.raises(ConfigurationError, match="belongs to 'checkpoint 1'"):
        claim(spark, str(tmp_path / "c"), Owner(REJECTS, "stream", "checkpoint 2"))
    (tmp_path / "c" / f"{MANIFEST}1").write_text("[]")
    with pytest.raises(ConfigurationError, match="not a list of files"):
        claim(spark, str(tmp_path / "c"), Owner(REJECTS, "stream", "checkpoint 1"))


@pytest.mark.parametrize(
    "path", ["mine", "runs/day=1/mine", "part-1", "_SUCCESS", f"{NEW}1", "runs/.part-1.crc"]
)
def test_a_file_that_was_added_or_changed_is_refused(spark: SparkSession, tmp_path: Path, path: str) -> None:
    write(claim(spark, str(tmp_path), OWNER), FIRST)
    write_files(tmp_path, {path: b"edited"})
    previous = contents(tmp_path)
    with pytest.raises(ConfigurationError, match=f"'{path}'"):
        claim(spark, str(tmp_path), OWNER)
    assert contents(tmp_path) == previous


def test_a_change_of_equal_size_is_seen_by_its_time(spark: SparkSession, tmp_path: Path) -> None:
    write(claim(spark, str(tmp_path), OWNER), FIRST)
    (tmp_path / "part-1").write_bytes(b"FIRST")
    os.utime(tmp_path / "part-1", (1, 1))
    with pytest.raises(ConfigurationError, match="'part-1'"):
        claim(spark, str(tmp_path), OWNER)


def test_a_file_that_appears_during_a_job_survives_and_the_output_waits(
    spark: SparkSession, tmp_path: Path
) -> None:
    directory = claim(spark, str(tmp_path), OWNER)
    write(directory, FIRST)
    with pytest.raises(LineageError, match="runs/day=1/mine appeared"):
        write(directory, {**SECOND, "../runs/day=1/mine": b"mine"})
    assert output(tmp_path) == {**FIRST, "runs/day=1/mine": b"mine"}
    with pytest.raises(ConfigurationError, match="'runs/day=1/mine'"):
        claim(spark, str(tmp_path), OWNER)
    (tmp_path / "runs/day=1/mine").unlink()
    claim(spark, str(tmp_path), OWNER)
    assert output(tmp_path) == SECOND


def test_output_of_a_killed_job_is_removed_when_it_is_old(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(spark, str(tmp_path), OWNER)
    started = str(output_directory.now_ms()).encode()
    write_files(
        tmp_path / f"{NEW}1",
        {"_FLL_STARTED": started, "part-1": b"", ".part-1.crc": b"", "_temporary/0/x": b""},
    )
    write_files(tmp_path / f"{NEW}2", {"_FLL_STARTED": started, "mine": b""})
    previous = contents(tmp_path)
    claim(spark, str(tmp_path), OWNER)
    assert contents(tmp_path) == previous
    monkeypatch.setattr(output_directory, "ABANDONED_MS", -1)
    claim(spark, str(tmp_path), OWNER)
    assert not (tmp_path / f"{NEW}1").exists()
    assert (tmp_path / f"{NEW}2" / "mine").exists()


def test_directories_with_their_own_marker_are_not_looked_into(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        claim(spark, str(tmp_path), OWNER, parts="batch=")
        write(claim(spark, str(tmp_path / "batch=0"), OWNER), {"part-0": b"x"})
    assert output(tmp_path) == {"batch=0/part-0": b"x"}


SPARK_NAMES = "part-1", "part-2", "part-9", "_SUCCESS", ".hidden", ".part-1.crc", "_delta_log", "_temporary"
OWN_NAMES = REJECTS, f"{MANIFEST}0", f"{NEW}0", "_fll_replaced-0", "_fll_tmp-0", "_FLL_STARTED"
NAMES = st.sampled_from([*SPARK_NAMES, *OWN_NAMES, "runs", "day=1", "batch=0", "ü 100%"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.sampled_from([b"", b"mine", b"first"]), max_size=4)


def add(folder: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """Write files of somebody, not over ones that are there; returns those that could be written."""
    written = {}
    for path, raw in files.items():
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("xb") as file:
                file.write(raw)
            written[path] = raw
        except OSError:
            continue  # a directory, or below a file
    return written


@settings(suppress_health_check=list(HealthCheck))
@given(beside=FILES, earlier=FILES, between=FILES, during=FILES)
@example(beside={}, earlier={}, between={}, during={f"{MANIFEST}0/x": b"mine"})
def test_no_file_of_anybody_is_ever_deleted_or_moved(
    beside: dict[str, bytes],
    earlier: dict[str, bytes],
    between: dict[str, bytes],
    during: dict[str, bytes],
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Files beside the directory, in it before the first job, between two jobs, and during the second."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "out"
    folder.mkdir()
    theirs = add(home, {f"{BESIDE}/{path}": raw for path, raw in beside.items()})
    theirs |= {f"out/{path}": raw for path, raw in add(folder, earlier).items()}
    for files, more in ((FIRST, {}), (SECOND, during), ({}, {})):
        try:
            with claim(spark, str(folder), OWNER).replacing() as url:
                write_files(local(url), files)
                theirs |= {f"out/{path}": raw for path, raw in add(folder, more).items()}
        except LineageError:
            pass
        theirs |= {f"out/{path}": raw for path, raw in add(folder, between).items()}
    present = contents(home)
    assert {path: present.get(path) for path in theirs} == theirs


@pytest.mark.parametrize(
    ("path", "parent", "is_below"),
    [
        ("hdfs://127.0.0.1:8020/in/rejects", "hdfs://127.0.0.1:8020", True),
        ("hdfs://127.0.0.1:8020/in/rejects", "hdfs://127.0.0.1:8020/", True),
        ("hdfs://127.0.0.1:8020/in", "webhdfs://127.0.0.1:8020/in", True),
        ("hdfs://127.0.0.1:8020/in-old", "hdfs://127.0.0.1:8020/in", False),
        ("hdfs://127.0.0.1:8020/in", "hdfs://127.0.0.1:8021/", False),
        ("/data/a/b", "file:/data/a/", True),
    ],
)
def test_directories_below_others(spark: SparkSession, path: str, parent: str, is_below: bool) -> None:
    assert is_subdirectory(spark, path, parent) is is_below
