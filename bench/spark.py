"""Spark jobs compared with the API and with bare scans, on stores of this machine, in one run."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from bench import documents, recording
from bench.documents import NAMESPACE
from bench.hbase import Hbase, running
from bench.report import print_figure
from bench.server import Server
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.jobs.load import partition_count
from fll_hbase.spark.lines import line_frames
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table, open_table
from fll_hbase.tables.hbase_url import SCHEME, parse_url

FILES = 8
CORES = 2
CORES_RUNS_MAX = 200_000
"""Runs of the comparison of cores and gateways: more would only take longer."""

CALL_RUNS = 5_000
WHOLE_TABLE = (b"\x00", b"\x7f")
COUNTS = "rows bigint, cells bigint"


def bench(sizes: Sequence[int]) -> None:
    """Measure the largest size against the API, smaller ones for all else."""
    with tempfile.TemporaryDirectory() as folder:
        _measure_load(Path(folder), sizes[-1])
        _measure_cores(Path(folder), min(sizes[-1], CORES_RUNS_MAX))
        _measure_skew(Path(folder), sizes[-2])
        _measure_constant_parts(Settings(store=f"sqlite:///{folder}/few.db", grace_ms=0))
        _measure_scans(Settings(store=f"sqlite:///{folder}/load.db", grace_ms=0), sizes[-1])
        _measure_hbase(Path(folder), sizes[-2])
        _measure_gateways(Path(folder), min(sizes[-2], CORES_RUNS_MAX))


@dataclass(frozen=True, slots=True)
class Job:
    """The report of a finished `fll spark` job, its CPU seconds, and the largest memory of any worker."""

    report: dict[str, float]
    jvm_seconds: float
    worker_seconds: float
    worker_bytes: int

    @property
    def seconds(self) -> float:
        """Seconds from the session to the end, with the start of workers but not of the JVM."""
        return self.report["seconds"]


@dataclass(frozen=True, slots=True)
class Usage:
    """The command of a process, its CPU time, and the most memory that it had."""

    command: str
    cpu_seconds: float
    peak_bytes: int


def _measure_load(folder: Path, size: int) -> None:
    """Compare the load of the same runs with the API and with bare processes, and time its first steps."""
    server = Server(f"sqlite:///{folder}/http.db")
    try:
        http_rate = recording.measure_batches(server, size)
    finally:
        server.stop()
    source = _write_files(folder / "runs", documents.generate(size), size=size)
    grouped = _write_files(folder / "grouped", _with_repeated_run(size), size=size)
    tenth = _write_files(folder / "tenth", documents.generate(size // 10), size=size // 10)
    small = _run_load(tenth, f"sqlite:///{folder}/tenth.db")
    startup_seconds = _startup_seconds(CORES)
    load = _run_load(source, f"sqlite:///{folder}/load.db")
    grouped_load = _run_load(grouped, f"sqlite:///{folder}/grouped.db")
    grouped_rate = size / (grouped_load.seconds - startup_seconds)
    steady_rate = size / (load.seconds - startup_seconds)
    print_figure(f"API, batches, {size:,} runs", http_rate, "runs/s")
    print_figure(f"load with {CORES} cores, {size:,} runs", size / load.seconds, "runs/s")
    print_figure("load / API", size / load.seconds / http_rate, "x", target="at least 1")
    print_figure(f"start-up: a load of {FILES} runs", startup_seconds, "s")
    print_figure("load / API, without start-up", steady_rate / http_rate, "x", target="at least 1")
    print_figure("CPU of the load: JVM", 1e6 * load.jvm_seconds / size, "us/run")
    print_figure("CPU of the load: Python workers", 1e6 * load.worker_seconds / size, "us/run")
    print_figure("load / API, lines grouped by run", grouped_rate / http_rate, "x")
    print_figure("CPU of this load: JVM", 1e6 * grouped_load.jvm_seconds / size, "us/run")
    print_figure("CPU of this load: Python workers", 1e6 * grouped_load.worker_seconds / size, "us/run")
    bare_rate = size / _record_without_spark(source, f"sqlite:///{folder}/bare.db")
    print_figure(f"{CORES} processes that only read and record", bare_rate, "runs/s")
    print_figure("these / API, the limit of a load on these cores", bare_rate / http_rate, "x")
    print_figure("largest worker memory, a tenth of the runs", small.worker_bytes / 2**20, "MiB")
    print_figure("largest worker memory, all runs", load.worker_bytes / 2**20, "MiB")
    for step, seconds in _load_steps(source).items():
        print_figure(f"of a load of {load.seconds:.0f} s: {step}", seconds, "s")


def _with_repeated_run(size: int) -> Iterator[bytes]:
    """Documents, the first of them twice, so that a load has to group all lines by run."""
    first, *_ = documents.generate(1)
    yield first
    yield from islice(documents.generate(size), size - 1)


def _startup_seconds(cores: int) -> float:
    """Return the seconds of a load of one run a file, which are nearly a constant part of every load."""
    with tempfile.TemporaryDirectory() as folder:
        source = _write_files(Path(folder, "runs"), documents.generate(FILES), size=FILES)
        return _run_load(source, f"sqlite:///{folder}/startup.db", cores=cores).seconds


def _load_steps(source: Path) -> dict[str, float]:
    """Seconds of the first steps of a load, each from the start."""
    with _spark() as spark:
        text = line_frames.read_text(spark, [str(source)])
        size_bytes = sum(file.stat().st_size for file in source.iterdir())
        runs = line_frames.group_by_run(text, partitions=partition_count(spark, size_bytes))
        frames = {"reading lines": text, "grouping by run (keys, shuffle, sort)": runs}
        return {step: _seconds(partial(_compute, frame)) for step, frame in frames.items()}


def _compute(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _record_without_spark(source: Path, url: str) -> float:
    """Record the files of a folder by as many processes as a load has; returns seconds."""
    files = sorted(source.iterdir())
    shares = [files[number::CORES] for number in range(CORES)]
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        return max(pool.map(partial(_record_share, url), shares, chunksize=1))


def _record_share(url: str, files: Sequence[Path]) -> float:
    return _record_files(open_store(Settings(store=url)), files)


def _record_files(store: LineageStore, files: Sequence[Path]) -> float:
    """Record the lines of the files, CALL_RUNS in a call; returns seconds."""
    started = time.perf_counter()
    with ExitStack() as opened:
        lines = chain.from_iterable(opened.enter_context(file.open("rb")) for file in files)
        recording.record_lines(store, lines, call_runs=CALL_RUNS)
    return time.perf_counter() - started


def _measure_cores(folder: Path, size: int) -> None:
    """Compare loads with one core and with all, both without their start-up."""
    source = _write_files(folder / "scaled", documents.generate(size), size=size)
    rates = []
    for cores in (1, CORES):
        seconds = _run_load(source, f"sqlite:///{folder}/cores{cores}.db", cores=cores).seconds
        rates.append(size / (seconds - _startup_seconds(cores)))
        print_figure(f"load without start-up, cores: {cores}, {size:,} runs", rates[-1], "runs/s")
    label = f"load with {CORES} cores / one core, without start-up"
    print_figure(label, rates[1] / rates[0], "x", target="at least 1.6")


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


def _measure_gateways(folder: Path, size: int) -> None:
    """Compare two workers with a gateway each with one of each, by the calls in a second spent in calls.

    The rate of calls, not of runs: two cores run the workers, the gateways and all of HBase.
    """
    source = _write_files(folder / "for_gateways", documents.generate(size), size=size)
    files = sorted(source.iterdir())
    rates = []
    with _hbase_cluster(folder / "cluster") as hbase:
        for workers in (1, CORES):
            urls = _gateway_urls(hbase.create_table(f"workers_{workers}"))[:workers]
            shares = [files[number::CORES] for number in range(workers)]
            with multiprocessing.get_context("spawn").Pool(workers) as pool:
                calls = pool.starmap(_record_timed, zip(urls, shares, strict=True), chunksize=1)
            rates.append(sum(count / seconds for count, seconds in calls))
            print_figure(f"HBase calls, workers and gateways: {workers}", rates[-1], "/s")
    print_figure(f"{CORES} workers and gateways / one", rates[1] / rates[0], "x", target="at least 1.7")


@contextmanager
def _hbase_cluster(data: Path) -> Iterator[Hbase]:
    """Start a cluster with as many region servers and gateways as cores, and stop it at the end."""
    hbase = Hbase(data)
    hbase.launch("start", "cluster", str(CORES), str(CORES))
    try:
        yield hbase
    finally:
        hbase.launch("stop")


def _gateway_urls(url: str) -> list[str]:
    """Return the URL of the table at each gateway. Gateways listen on consecutive ports."""
    (gateway,), table = parse_url(url)
    return [f"{SCHEME}{gateway.host}:{gateway.port + number}/{table}" for number in range(CORES)]


def _record_timed(url: str, files: Sequence[Path]) -> tuple[int, float]:
    """Record the files; returns the number of calls of the table, and the seconds that they took."""
    table = _TimedTable(open_table(url))
    _record_files(LineageStore(cast(Table, table)), files)
    return table.calls, table.seconds


class _TimedTable:
    """A table that counts calls and adds up their seconds."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls = 0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        method = getattr(self._table, name)
        if not callable(method):
            return method

        def call(*arguments: object, **options: object) -> object:
            started = time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                self.calls += 1
                self.seconds += time.perf_counter() - started

        return call


def _measure_constant_parts(settings: Settings) -> None:
    """Measure a scan, a check and a retention of a store of FILES runs, the second time of each."""
    with closing(open_table(settings.store)) as table:
        recording.record_lines(LineageStore(table), documents.generate(FILES), call_runs=FILES)
    with _spark() as spark:
        jobs: dict[str, Callable[[], object]] = {
            "bare scan": lambda: _count_rows(spark, settings),
            "check": lambda: check.check(spark, settings, repair=False),
            "retention": lambda: retention.apply_retention(spark, settings, RetentionPolicy(), dry_run=False),
        }
        for title, job in jobs.items():
            job()
            print_figure(f"{title} of {FILES} runs", _seconds(job), "s")


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
    """Yield documents: `tenths` tenths write one dataset, and the others one of a hundred."""
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
    """Run `fll spark load` as a process, and watch its JVM and workers."""
    command = [str(Path(sys.executable).with_name("fll")), "spark", "load", str(source)]
    options = ["--store", store, "--namespace", NAMESPACE, "--master", f"local[{cores}]"]
    rejects = ["--rejects", str(source.with_suffix(".rejects"))]
    usages: dict[int, Usage] = {}
    with subprocess.Popen(
        [*command, *options, *rejects],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        while process.poll() is None:
            usages |= _session_usages(process.pid)
            time.sleep(0.2)
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise RuntimeError(f"load ended with {process.returncode}: {output}")
    return _job(json.loads(output), list(usages.values()))


def _job(report: dict[str, float], usages: Sequence[Usage]) -> Job:
    # The driver is a Python process, too, but waits only.
    jvms = [usage for usage in usages if "java" in usage.command.partition(" ")[0]]
    workers = [usage for usage in usages if "pyspark.daemon" in usage.command]
    return Job(
        report,
        jvm_seconds=sum(usage.cpu_seconds for usage in jvms),
        worker_seconds=sum(usage.cpu_seconds for usage in workers),
        worker_bytes=max((usage.peak_bytes for usage in workers), default=0),
    )


def _session_usages(session: int) -> Iterator[tuple[int, Usage]]:
    """The resources that each process of a session has used so far, by process id."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            # A process that has ended, but not for its parent, has neither a command nor memory.
            if int(fields[3]) == session and fields[0] != "Z":
                command = (folder / "cmdline").read_text().replace("\0", " ")
                peak = re.search(r"VmHWM:\s*(\d+)", (folder / "status").read_text())
                ticks = int(fields[11]) + int(fields[12])
                peak_bytes = 1024 * int(peak[1]) if peak else 0
                yield int(folder.name), Usage(command, ticks / os.sysconf("SC_CLK_TCK"), peak_bytes)
        except OSError:
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
