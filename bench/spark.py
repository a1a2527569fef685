"""Spark jobs compared with the API and with bare scans, on stores of this machine, in one run."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench import documents, recording
from bench.documents import NAMESPACE
from bench.hbase import running
from bench.report import print_figure
from bench.server import Server
from fll_hbase.config import Settings
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.spark import line_frames, range_scan
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store
from fll_hbase.tables import Table

FILES = 8
CORES = 2
CALL_RUNS = 5_000
WHOLE_TABLE = (b"\x00", b"\x7f")
COUNTS = "rows bigint, cells bigint"


def bench(sizes: Sequence[int]) -> None:
    """Measure the largest size against the API, the middle one for all else."""
    with tempfile.TemporaryDirectory() as folder:
        _measure_load(Path(folder), sizes[-1])
        _measure_cores(Path(folder), sizes[-2])
        _measure_skew(Path(folder), sizes[-2])
        _measure_scans(Settings(store=f"sqlite:///{folder}/load.db", grace_ms=0), sizes[-1])
        _measure_hbase(Path(folder), sizes[-2])


@dataclass(frozen=True, slots=True)
class Job:
    """The report of a finished `fll spark` job, and the largest memory of any of its workers."""

    report: dict[str, float]
    worker_bytes: int


def _measure_load(folder: Path, size: int) -> None:
    """Compare the load of the same runs with the API and with bare processes, and time its first steps."""
    server = Server(f"sqlite:///{folder}/http.db")
    try:
        http_rate = recording.measure_batches(server, size)
    finally:
        server.stop()
    source = _write_files(folder / "runs", documents.generate(size), size=size)
    tenth = _write_files(folder / "tenth", documents.generate(size // 10), size=size // 10)
    small = _run_load(tenth, f"sqlite:///{folder}/tenth.db")
    load = _run_load(source, f"sqlite:///{folder}/load.db")
    rate = load.report["per_second"]
    print_figure(f"API, batches, {size:,} runs", http_rate, "runs/s")
    print_figure(f"load with {CORES} cores, {size:,} runs", rate, "runs/s")
    print_figure("load / API", rate / http_rate, "x", target="at least 2")
    bare_rate = size / _record_without_spark(source, f"sqlite:///{folder}/bare.db")
    print_figure(f"{CORES} processes that only read and record", bare_rate, "runs/s")
    print_figure("these / API, the limit of a load on these cores", bare_rate / http_rate, "x")
    print_figure("largest worker memory, a tenth of the runs", small.worker_bytes / 2**20, "MiB")
    print_figure("largest worker memory, all runs", load.worker_bytes / 2**20, "MiB")
    for step, seconds in _load_steps(source).items():
        print_figure(f"of a load of {load.report['seconds']:.0f} s: {step}", seconds, "s")


def _load_steps(source: Path) -> dict[str, float]:
    """Seconds of the first steps of a load, each from the start."""
    with _spark() as spark:
        text = line_frames.read_text(spark, [str(source)])
        runs = line_frames.group_by_run(text, partitions=20)
        frames = {"reading lines": text, "grouping by run (keys, shuffle, sort)": runs}
        return {step: _seconds(partial(_compute, frame)) for step, frame in frames.items()}


def _compute(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _record_without_spark(source: Path, url: str) -> float:
    """Record the files of a folder by as many processes as a load has; returns seconds."""
    files = sorted(source.iterdir())
    shares = [files[number::CORES] for number in range(CORES)]
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        return max(pool.map(partial(_record_files, Settings(store=url)), shares, chunksize=1))


def _record_files(settings: Settings, files: Sequence[Path]) -> float:
    store, reader = open_store(settings), CachedDocumentReader()
    started = time.perf_counter()
    for file in files:
        with file.open("rb") as lines:
            while chunk := list(islice(lines, CALL_RUNS)):
                store.record([reader.read(line, namespace=NAMESPACE).recorded for line in chunk])
    return time.perf_counter() - started


def _measure_cores(folder: Path, size: int) -> None:
    source = _write_files(folder / "scaled", documents.generate(size), size=size)
    single_rate, rate = (
        _run_load(source, f"sqlite:///{folder}/cores{cores}.db", cores=cores).report["per_second"]
        for cores in (1, CORES)
    )
    label = f"load with {CORES} cores / one core, {size:,} runs"
    print_figure(label, rate / single_rate, "x", target="at least 1.7")


def _measure_skew(folder: Path, size: int) -> None:
    """Compare nine of ten runs at one dataset with an even spread over a hundred."""
    seconds = {}
    for name, tenths in (("even", 0), ("skewed", 9)):
        source = _write_files(folder / name, _spread(size, tenths), size=size)
        seconds[name] = _run_load(source, f"sqlite:///{folder}/{name}.db").report["seconds"]
    ratio = seconds["skewed"] / seconds["even"]
    print_figure("load with 90 % at one dataset / even load", ratio, "x", target="at most 1.5")


def _measure_hbase(folder: Path, size: int) -> None:
    """Measure the same on a real HBase of this machine, which itself uses most of the two cores."""
    with running(folder / "hbase") as hbase:
        server = Server(hbase.create_table("by_api"))
        try:
            http_rate = recording.measure_batches(server, size)
        finally:
            server.stop()
        url = hbase.create_table("by_load")
        source = _write_files(folder / "for_hbase", documents.generate(size), size=size)
        rate = _run_load(source, url).report["per_second"]
        print_figure(f"HBase: API, batches, {size:,} runs", http_rate, "runs/s")
        print_figure(f"HBase: load, {size:,} runs", rate, "runs/s")
        print_figure("HBase: load / API", rate / http_rate, "x")
        _measure_scans(Settings(store=url, grace_ms=0), size)


def _measure_scans(settings: Settings, size: int) -> None:
    """Compare retention and check with a scan that only counts rows."""
    with _spark() as spark:

        def purge(policy: RetentionPolicy) -> None:
            retention.apply_retention(spark, settings, policy, dry_run=False)

        _count_rows(spark, settings)  # the first scan starts the workers
        rows, scan_seconds = _count_rows(spark, settings)
        print_figure(f"bare scan of {rows:,} rows", rows / scan_seconds, "rows/s")
        idle_seconds = _seconds(lambda: purge(RetentionPolicy()))
        print_figure(
            "retention without garbage / bare scan", idle_seconds / scan_seconds, "x", target="at most 2"
        )
        check_seconds = _seconds(lambda: check.check(spark, settings, repair=False))
        print_figure("check / bare scan", check_seconds / scan_seconds, "x", target="at most 2")
        half_ms = documents.FIRST_DAY_MS + documents.DAYS * documents.DAY_MS // 2
        purge_seconds = _seconds(lambda: purge(RetentionPolicy(half_ms)))
        label = f"retention of {size // 2:,} runs and their references"
        print_figure(label, size / 2 / purge_seconds, "runs/s")


def _count_rows(spark: SparkSession, settings: Settings) -> tuple[int, float]:
    """Read every row on the workers; returns the number of rows, and seconds."""
    started = time.perf_counter()
    counts = range_scan.scan_ranges(spark, settings, [WHOLE_TABLE], read=_count_range, schema=COUNTS)
    (rows,) = counts.agg({"rows": "sum"}).collect()[0]
    return rows, time.perf_counter() - started


def _count_range(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, int]]:
    rows = cells = 0
    for _, row in table.scan(start, stop):
        rows += 1
        cells += len(row)
    yield rows, cells


def _spread(size: int, tenths: int) -> Iterator[bytes]:
    """Documents of which `tenths` tenths write one dataset, the others one of a hundred."""
    for number, line in enumerate(documents.generate(size)):
        if number % 10 < tenths:
            yield line
        else:
            dataset = b'"%b_%d"' % (documents.DESTINATION.encode(), number % 100)
            yield line.replace(b'"%b"' % documents.DESTINATION.encode(), dataset)


def _write_files(folder: Path, lines: Iterator[bytes], *, size: int) -> Path:
    """Write the lines to FILES files of equal length."""
    folder.mkdir()
    for number in range(FILES):
        with (folder / f"{number}.ndjson").open("wb") as file:
            file.writelines(b"%b\n" % line for line in islice(lines, -(-size // FILES)))
    return folder


def _run_load(source: Path, store: str, *, cores: int = CORES) -> Job:
    """Run `fll spark load` as a process, and watch the memory of its workers."""
    command = [str(Path(sys.executable).with_name("fll")), "spark", "load", str(source)]
    options = ["--store", store, "--namespace", NAMESPACE, "--master", f"local[{cores}]"]
    rejects = ["--rejects", str(source.with_suffix(".rejects"))]
    with subprocess.Popen(
        [*command, *options, *rejects], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        worker_bytes = 0
        while process.poll() is None:
            worker_bytes = max(worker_bytes, *_worker_bytes(), 0)
            time.sleep(0.2)
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise RuntimeError(f"load ended with {process.returncode}: {output}")
    return Job(json.loads(output), worker_bytes)


def _worker_bytes() -> Iterator[int]:
    """The peak memory of each Python worker of Spark on this machine."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"pyspark.daemon" in (status.parent / "cmdline").read_bytes():
                (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
                yield 1024 * int(line.split()[1])
        except (OSError, ValueError):
            continue  # the process has just ended


@contextmanager
def _spark() -> Iterator[SparkSession]:
    spark = session("bench", master=f"local[{CORES}]", settings={"spark.ui.showConsoleProgress": "false"})
    try:
        yield spark
    finally:
        spark.stop()


def _seconds(operation: Callable[[], object]) -> float:
    started = time.perf_counter()
    operation()
    return time.perf_counter() - started
