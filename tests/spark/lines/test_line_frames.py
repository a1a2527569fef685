"""Lines of one run are adjacent, in order and evenly partitioned, and have their number in the file."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.lines import line_frames
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, KEY, POSITION, VALUE
from tests.support.small_documents import document

BYTES_MAX = 1_000
COLUMNS = "value binary, file string, block bigint, position bigint, time_ms bigint"


def event(run: str, number: int) -> bytes:
    members = {"eventTime": f"2026-03-01T00:00:{number:02}Z", "run": {"runId": run}, "job": {}}
    return json.dumps(members).encode()


def frame(spark: SparkSession, values: Sequence[bytes], *, file: str = "f") -> DataFrame:
    """Lines of a file of three blocks."""
    rows = [(value, file, number % 3 * 100, number, 0) for number, value in enumerate(values)]
    return spark.createDataFrame(rows, COLUMNS)


def is_plain(lines: DataFrame) -> bool:
    sized = lines.withColumn(line_frames.SIZE, f.octet_length(VALUE))
    return line_frames.is_plain(sized, bytes_max=BYTES_MAX)


def test_lines_of_a_run_are_adjacent_in_the_order_of_the_file(spark: SparkSession) -> None:
    runs = [f"run {number % 7}" for number in range(70)]
    lines = [
        event(run, number % 60) if number % 2 else json.dumps(document(run, number=number)).encode()
        for number, run in enumerate(runs)
    ]
    other = frame(spark, lines[:20], file="e")
    grouped = line_frames.group_by_run(frame(spark, lines).unionByName(other), partitions=3)
    rows = grouped.withColumn("part", f.spark_partition_id()).collect()
    assert sorted(bytes(row[VALUE]) for row in rows) == sorted([*lines, *lines[:20]])
    positions_by_run: dict[str, list[tuple[int, str, int, int]]] = {}
    for row in rows:
        run = json.loads(row[VALUE])["run"]
        position = row["part"], row[FILE], row[BLOCK], row[POSITION]
        positions_by_run.setdefault(run.get("run", run.get("runId")), []).append(position)
    assert len(positions_by_run) == 7
    for positions in positions_by_run.values():
        assert len({part for part, *_ in positions}) == 1
        assert positions == sorted(positions)


def test_partitions_are_even_whichever_run_has_most_lines(spark: SparkSession) -> None:
    lines = [event(f"nightly-{number}", 0) for number in range(3_000)] + [
        event("endless", n) for n in range(9)
    ]
    grouped = line_frames.group_by_run(frame(spark, lines), partitions=4)
    counts = [row["count"] for row in grouped.groupBy(f.spark_partition_id()).count().collect()]
    assert len(counts) == 4
    assert max(counts) < 1.2 * min(counts)


def test_runs_come_in_order_of_time_from_any_order_of_lines(spark: SparkSession) -> None:
    """A run is sorted by its earliest line; runs whose time cannot be read come first."""
    seconds = random.Random(3).sample(range(10, 60), 50)
    lines = [event(f"run-{second}", second) for second in seconds]
    lines += [event("run-20", 55), event("run-50", 5), json.dumps(document("run-00")).encode(), b"{"]
    values = [
        bytes(row[VALUE]) for row in line_frames.group_by_run(frame(spark, lines), partitions=1).collect()
    ]
    assert sorted(values) == sorted(lines)
    assert values[0] == b"{"
    order = [run for run, _ in groupby(re.search(rb"run-(..)", raw)[1] for raw in values[1:])]
    rest = [b"%02d" % second for second in range(10, 60) if second != 50]
    assert order == [b"00", b"50", *rest]


@pytest.mark.parametrize("repeated", ["run-3", "run-40", "\\u0072un-3"])
def test_a_run_of_two_lines_is_found(
    repeated: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the lines that are looked at before all are, behind them, and in another file."""
    monkeypatch.setattr(line_frames, "FIRST_LINES", 10)
    lines = [event(f"run-{number}", number) for number in range(50)]
    assert is_plain(frame(spark, lines))
    line = b'{"run":{"run":"%b"},"operations":[]}' % repeated.encode()
    other = frame(spark, [line], file="e")
    assert is_plain(other)
    assert not is_plain(frame(spark, [*lines[:4], line, *lines[4:]]))
    assert not is_plain(frame(spark, lines).unionByName(other))


def test_lines_without_a_run_are_not_of_one(spark: SparkSession) -> None:
    assert is_plain(frame(spark, [b'{"sql":"SELECT 1"}', b"{}", b"{", b"\xff", b"", b" ", b""]))
    assert not is_plain(frame(spark, [b"{}", b"[]", b"{}"]))


@pytest.mark.parametrize("first_lines", [1, 10])
def test_a_long_line_is_not_plain(
    first_lines: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_frames, "FIRST_LINES", first_lines)
    long = b" " * (BYTES_MAX + 2)
    assert is_plain(frame(spark, [b"{}", long[:-1]]))
    assert not is_plain(frame(spark, [b"{}", long]))
    assert not is_plain(frame(spark, [b"{}", long, long]))


@pytest.mark.parametrize("partitions", [1, 3, 4])
def test_lines_are_spread_only_over_more_partitions(partitions: int, spark: SparkSession) -> None:
    lines = [event(f"run-{number}", 0) for number in range(200)]
    read = frame(spark, lines).coalesce(1).repartition(3)
    rows = line_frames.spread(read, partitions=partitions).withColumn("part", f.spark_partition_id())
    parts = [row["part"] for row in rows.collect()]
    assert sorted(bytes(row[VALUE]) for row in rows.collect()) == sorted(lines)
    assert len(set(parts)) == max(partitions, 3)
    assert KEY not in rows.columns


def test_one_run_is_one_however_it_is_written(spark: SparkSession) -> None:
    lines = [
        b'{"run":{"run":"ab"}}',
        b'{"eventTime":"?","run":{"x":[{}],"runId":"a\\u0062"}}',
        b'{"run":{"run":"b"}}',
    ]
    keys = {
        bytes(row[VALUE]): row[KEY]
        for row in line_frames.group_by_run(frame(spark, lines), partitions=2).collect()
    }
    assert keys[lines[0]] == keys[lines[1]] != keys[lines[2]]


def test_a_run_is_found_wherever_the_operations_are(spark: SparkSession) -> None:
    """Also where the word is a value, or the name of another member."""
    run = '"run":{%s"run":"operations","startTime":7%s}'
    lines = [
        "{%s}" % (run % ("", "")),
        '{%s,"operations":[{"run":{"run":"b"}}]}' % (run % ("", "")),
        '{"operations":[{"run":{"run":"b"}}],%s}' % (run % ("", "")),
        '{"operations":"operations",%s}' % (run % ("", "")),
        "{%s}" % (run % ('"program":"operations",', "")),
        '{%s,"operations":[]}' % (run % ('"x":{"operations":0},', "")),
        '{"x":{"run":{"run":"b"},"operations":0},%s}' % (run % ("", "")),
        '{"x":["operations"],%s,"operations":[]}' % (run % ("", ',"y":"operations"')),
        '{"namespace":"\\"operations\\"",%s,"operations":[]}' % (run % ("", "")),
    ]
    grouped = line_frames.group_by_run(frame(spark, [line.encode() for line in lines]), partitions=2)
    rows = grouped.collect()
    assert len(rows) == len(lines)
    assert len({row[KEY] for row in rows}) == 1
    assert {row[line_frames.START_MS] for row in rows} == {7}


def test_numbers_count_blank_lines_and_blocks_before(spark: SparkSession, tmp_path: Path) -> None:
    lines = [b"%d" % number if number % 3 else b"" for number in range(1, 400)]
    (tmp_path / "a b.txt").write_bytes(b"\n".join(lines))
    (tmp_path / "c.txt").write_bytes(b"\n".join(lines) + b"\n")
    block_bytes = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "250")
    try:
        frame = line_frames.read_text(spark, [str(tmp_path)])
        blocks = frame.select(FILE, BLOCK).distinct().count()
        rows = line_frames.with_line_numbers(line_frames.drop_blank(frame), frame).collect()
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", block_bytes)
    assert blocks > 8
    assert len(rows) == 2 * sum(bool(line) for line in lines)
    assert all(int(row[VALUE]) == row["line"] for row in rows)


def test_blank_lines_are_dropped(spark: SparkSession) -> None:
    blank = [b"", b" ", b"\r", b" \t\r", b"\x0b\x0c"]
    lines = [b"{}", b" {", b"\x00", b"\xff", b"\xe2\x80", b"\xc2\xa0", b"\xe2\x80\x83"]
    rows = line_frames.drop_blank(frame(spark, [*blank, *lines])).collect()
    assert [bytes(row[VALUE]) for row in rows] == lines


KEYS = st.lists(st.integers(0, 5), max_size=30).map(sorted)


def batch(keys: Sequence[int]) -> pa.RecordBatch:
    values = [b"%d" % number for number in range(len(keys))]
    return pa.RecordBatch.from_pydict({KEY: pa.array(keys, pa.int64()), VALUE: pa.array(values, pa.binary())})


@given(keys=KEYS, cuts=st.lists(st.integers(0, 30)))
def test_batches_end_where_runs_do(keys: list[int], cuts: list[int]) -> None:
    rows = batch(keys)
    ends = sorted({*(min(cut, len(keys)) for cut in cuts), len(keys)})
    starts = [0, *ends]
    batches = [rows.slice(start, end - start) for start, end in zip(starts, ends, strict=False)]
    regrouped = list(line_frames.batch_by_run(iter(batches)))
    assert [row for part in regrouped for row in part.to_pylist()] == rows.to_pylist()
    runs = [set(part.column(KEY).to_pylist()) for part in regrouped]
    assert all(runs)
    assert sum(map(len, runs)) == len(set(keys))


def test_a_run_without_end_is_split_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_frames, "RUN_BYTES_MAX", 2 * batch([1]).nbytes)
    sizes = [part.num_rows for part in line_frames.batch_by_run(iter([batch([1])] * 7))]
    assert sizes == [3, 3, 1]
