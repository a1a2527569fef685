"""Do lines of one run meet, in order and evenly, and are they numbered as they stand in their file?"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pytest
from cli.documents import document
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark import line_frames
from fll_hbase.spark.line_frames import BLOCK, FILE, KEY, POSITION, VALUE

COLUMNS = "value binary, file string, block bigint, place bigint, time_ms bigint"


def event(run: str, number: int) -> bytes:
    said = {"eventTime": f"2026-03-01T00:00:{number:02}Z", "run": {"runId": run}, "job": {}}
    return json.dumps(said).encode()


def frame(spark: SparkSession, values: Sequence[bytes], *, file: str = "f") -> DataFrame:
    """Lines of a file of three blocks."""
    rows = [(value, file, number % 3 * 100, number, 0) for number, value in enumerate(values)]
    return spark.createDataFrame(rows, COLUMNS)


def test_lines_of_a_run_meet_in_the_order_of_the_file(spark: SparkSession) -> None:
    runs = [f"run {number % 7}" for number in range(70)]
    told = [
        event(run, number % 60) if number % 2 else json.dumps(document(run, number=number)).encode()
        for number, run in enumerate(runs)
    ]
    other = frame(spark, told[:20], file="e")
    met = line_frames.group_by_run(frame(spark, told).unionByName(other), partitions=3)
    rows = met.withColumn("part", f.spark_partition_id()).collect()
    assert sorted(bytes(row[VALUE]) for row in rows) == sorted([*told, *told[:20]])
    of_runs: dict[str, list[tuple[int, str, int, int]]] = {}
    for row in rows:
        run = json.loads(row[VALUE])["run"]
        place = row["part"], row[FILE], row[BLOCK], row[POSITION]
        of_runs.setdefault(run.get("run", run.get("runId")), []).append(place)
    assert len(of_runs) == 7
    for places in of_runs.values():
        assert len({part for part, *_ in places}) == 1
        assert places == sorted(places)


def test_parts_are_even_whoever_holds_most_runs(spark: SparkSession) -> None:
    told = [event(f"nightly-{number}", 0) for number in range(3_000)] + [
        event("endless", n) for n in range(9)
    ]
    met = line_frames.group_by_run(frame(spark, told), partitions=4)
    counts = [row["count"] for row in met.groupBy(f.spark_partition_id()).count().collect()]
    assert len(counts) == 4
    assert max(counts) < 1.2 * min(counts)


def test_runs_come_in_order_of_time_from_any_order_of_lines(spark: SparkSession) -> None:
    """A run stands where its earliest line does; those whose time cannot be read come first."""
    seconds = random.Random(3).sample(range(10, 60), 50)
    told = [event(f"run-{second}", second) for second in seconds]
    told += [event("run-20", 55), event("run-50", 5), json.dumps(document("run-00")).encode(), b"{"]
    found = [
        bytes(row[VALUE]) for row in line_frames.group_by_run(frame(spark, told), partitions=1).collect()
    ]
    assert sorted(found) == sorted(told)
    assert found[0] == b"{"
    order = [run for run, _ in groupby(re.search(rb"run-(..)", raw)[1] for raw in found[1:])]
    rest = [b"%02d" % second for second in range(10, 60) if second != 50]
    assert order == [b"00", b"50", *rest]


def test_one_run_is_one_however_it_is_written(spark: SparkSession) -> None:
    told = [
        b'{"run":{"run":"ab"}}',
        b'{"eventTime":"?","run":{"x":[{}],"runId":"a\\u0062"}}',
        b'{"run":{"run":"b"}}',
    ]
    keys = {
        bytes(row[VALUE]): row[KEY]
        for row in line_frames.group_by_run(frame(spark, told), partitions=2).collect()
    }
    assert keys[told[0]] == keys[told[1]] != keys[told[2]]


def test_numbers_count_blank_lines_and_blocks_before(spark: SparkSession, tmp_path: Path) -> None:
    said = [b"%d" % number if number % 3 else b"" for number in range(1, 400)]
    (tmp_path / "a b.txt").write_bytes(b"\n".join(said))
    (tmp_path / "c.txt").write_bytes(b"\n".join(said) + b"\n")
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "250")
    try:
        every = line_frames.read_text(spark, [str(tmp_path)])
        blocks = every.select(FILE, BLOCK).distinct().count()
        rows = line_frames.with_line_numbers(line_frames.drop_blank(every), every).collect()
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert blocks > 8
    assert len(rows) == 2 * sum(bool(line) for line in said)
    assert all(int(row[VALUE]) == row["line"] for row in rows)


def test_what_is_blank_is_passed_over(spark: SparkSession) -> None:
    blank = [b"", b" ", b"\r", b" \t\r", b"\x0b\x0c"]
    told = [b"{}", b" {", b"\x00", b"\xff", b"\xe2\x80", b"\xc2\xa0", b"\xe2\x80\x83"]
    kept = line_frames.drop_blank(frame(spark, [*blank, *told])).collect()
    assert [bytes(row[VALUE]) for row in kept] == told


KEYS = st.lists(st.integers(0, 5), max_size=30).map(sorted)


def batch(keys: Sequence[int]) -> pa.RecordBatch:
    places = [b"%d" % number for number in range(len(keys))]
    return pa.RecordBatch.from_pydict({KEY: pa.array(keys, pa.int64()), VALUE: pa.array(places, pa.binary())})


@given(keys=KEYS, cuts=st.lists(st.integers(0, 30)))
def test_batches_end_where_runs_do(keys: list[int], cuts: list[int]) -> None:
    whole = batch(keys)
    ends = sorted({*(min(cut, len(keys)) for cut in cuts), len(keys)})
    starts = [0, *ends]
    parts = [whole.slice(start, end - start) for start, end in zip(starts, ends, strict=False)]
    given = list(line_frames.batch_by_run(iter(parts)))
    assert [row for part in given for row in part.to_pylist()] == whole.to_pylist()
    held = [set(part.column(KEY).to_pylist()) for part in given]
    assert all(held)
    assert sum(map(len, held)) == len(set(keys))


def test_of_a_run_without_end_no_more_is_kept_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_frames, "RUN_BYTES_MAX", 2 * batch([1]).nbytes)
    sizes = [part.num_rows for part in line_frames.batch_by_run(iter([batch([1])] * 7))]
    assert sizes == [3, 3, 1]
