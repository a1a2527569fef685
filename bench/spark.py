"""Jobs on Spark against the API and against bare scans, on one store of this machine: all in one run."""

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

from pyspark.sql import SparkSession

from bench import documents, recording
from bench.documents import NAMESPACE
from bench.hbase import running
from bench.report import said
from bench.server import Server
from fll_hbase.config import Settings
from fll_hbase.model.retention_policy import Horizons
from fll_hbase.sources.native.cached_reader import DocumentReader
from fll_hbase.spark import line_frames as frames
from fll_hbase.spark import range_scan
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store
from fll_hbase.tables import Table

FILES = 8
CORES = 2
RUNS_A_CALL = 5_000
WHOLE = (b"\x00", b"\x7f")
COUNTED = "rows bigint, cells bigint"


def bench(sizes: Sequence[int]) -> None:
    """The largest size for what is compared with the API, the middle one for all else."""
    with tempfile.TemporaryDirectory() as folder:
        _load(Path(folder), sizes[-1])
        _cores(Path(folder), sizes[-2])
        _skew(Path(folder), sizes[-2])
        _scans(Settings(store=f"sqlite:///{folder}/load.db", grace_ms=0), sizes[-1])
        _hbase(Path(folder), sizes[-2])


@dataclass(frozen=True, slots=True)
class Job:
    """What a job of `fll spark` said at its end, and the most memory that any of its workers had."""

    summary: dict[str, float]
    worker_bytes: int


def _load(folder: Path, size: int) -> None:
    """The same runs by the API and by load; and the first steps of a load alone: where does time go?"""
    server = Server(f"sqlite:///{folder}/http.db")
    try:
        http = recording.ingest(server, size)
    finally:
        server.stop()
    source = _written(folder / "runs", documents.documents(size), size=size)
    small = _written(folder / "few", documents.documents(size // 10), size=size // 10)
    few = _load_job(small, f"sqlite:///{folder}/few.db")
    loaded = _load_job(source, f"sqlite:///{folder}/load.db")
    rate = loaded.summary["per_second"]
    said(f"API, batches, {size:,} runs", http, "runs/s")
    said(f"load with {CORES} cores, {size:,} runs", rate, "runs/s")
    said("load over the API", rate / http, "x", "at least 2")
    alone = size / _alone(source, f"sqlite:///{folder}/alone.db")
    said(f"{CORES} processes that read and record and do nothing else", alone, "runs/s")
    said("these over the API: as much as a load could gain on these cores", alone / http, "x")
    said("most memory of a worker, a tenth of the runs", few.worker_bytes / 2**20, "MiB")
    said("most memory of a worker, all runs", loaded.worker_bytes / 2**20, "MiB")
    with _spark() as spark:
        text = frames.of_text(spark, [str(source)])
        seconds = {
            "lines read": _timed(lambda: text.write.format("noop").mode("overwrite").save()),
            "lines met: keys, shuffle, sort": _timed(
                lambda: frames.met(text, parts=20).write.format("noop").mode("overwrite").save()
            ),
        }
    for step, took in seconds.items():
        said(f"of a load of {loaded.summary['seconds']:.0f} s: {step}", took, "s")


def _alone(source: Path, url: str) -> float:
    """Seconds for all lines of a folder by as many processes as a load has, without Spark."""
    files = sorted(source.iterdir())
    shares = [files[number::CORES] for number in range(CORES)]
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        return max(pool.map(partial(_record_files, Settings(store=url)), shares, chunksize=1))


def _record_files(settings: Settings, files: Sequence[Path]) -> float:
    store, reader = open_store(settings), DocumentReader()
    began = time.perf_counter()
    for file in files:
        with file.open("rb") as lines:
            while some := list(islice(lines, RUNS_A_CALL)):
                store.record([reader.read(line, namespace=NAMESPACE).recorded for line in some])
    return time.perf_counter() - began


def _cores(folder: Path, size: int) -> None:
    source = _written(folder / "scaled", documents.documents(size), size=size)
    one, two = (
        _load_job(source, f"sqlite:///{folder}/cores{cores}.db", cores=cores).summary["per_second"]
        for cores in (1, CORES)
    )
    said(f"load with {CORES} cores over one, {size:,} runs", two / one, "x", "at least 1.7")


def _skew(folder: Path, size: int) -> None:
    """Nine of ten runs at one end point, against an even spread over a hundred."""
    seconds = {}
    for name, share in (("even", 0), ("skewed", 9)):
        source = _written(folder / name, _spread(size, share), size=size)
        seconds[name] = _load_job(source, f"sqlite:///{folder}/{name}.db").summary["seconds"]
    ratio = seconds["skewed"] / seconds["even"]
    said("load of 90 % at one end point over an even one", ratio, "x", "at most 1.5")


def _hbase(folder: Path, size: int) -> None:
    """The same on a real HBase of this machine, which takes most of the two cores itself."""
    with running(folder / "hbase") as hbase:
        server = Server(hbase.made("by_api"))
        try:
            http = recording.ingest(server, size)
        finally:
            server.stop()
        url = hbase.made("by_load")
        source = _written(folder / "for_hbase", documents.documents(size), size=size)
        rate = _load_job(source, url).summary["per_second"]
        said(f"HBase: API, batches, {size:,} runs", http, "runs/s")
        said(f"HBase: load, {size:,} runs", rate, "runs/s")
        said("HBase: load over the API", rate / http, "x")
        _scans(Settings(store=url, grace_ms=0), size)


def _scans(settings: Settings, size: int) -> None:
    with _spark() as spark:
        _bare(spark, settings)
        rows, bare = _bare(spark, settings)
        said(f"bare scan of {rows:,} rows", rows / bare, "rows/s")
        swept = _timed(lambda: retention.retain(spark, settings, Horizons(), dry_run=False))
        said("retention that finds nothing over a bare scan", swept / bare, "x", "at most 2")
        checked = _timed(lambda: check.check(spark, settings, repair=False))
        said("check over a bare scan", checked / bare, "x", "at most 2")
        half_ms = documents.FIRST_DAY_MS + documents.DAYS * documents.DAY_MS // 2
        purged = _timed(lambda: retention.retain(spark, settings, Horizons(half_ms), dry_run=False))
        said(f"purge of {size // 2:,} runs and all of theirs", size / 2 / purged, "runs/s")


def _bare(spark: SparkSession, settings: Settings) -> tuple[int, float]:
    """Every row read by the workers and counted: rows, and seconds."""
    began = time.perf_counter()
    found = range_scan.scanned(spark, settings, [WHOLE], read=_counted, schema=COUNTED)
    (rows,) = found.agg({"rows": "sum"}).collect()[0]
    return rows, time.perf_counter() - began


def _counted(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, int]]:
    rows = cells = 0
    for _, row in table.scan(start, stop):
        rows += 1
        cells += len(row)
    yield rows, cells


def _spread(size: int, share: int) -> Iterator[bytes]:
    """Documents of which `share` tenths touch one end point, the others one of a hundred."""
    for number, line in enumerate(documents.documents(size)):
        if number % 10 < share:
            yield line
        else:
            end_point = b'"%b_%d"' % (documents.DESTINATION.encode(), number % 100)
            yield line.replace(b'"%b"' % documents.DESTINATION.encode(), end_point)


def _written(folder: Path, lines: Iterator[bytes], *, size: int) -> Path:
    """The lines in some files of equal length."""
    folder.mkdir()
    for number in range(FILES):
        with (folder / f"{number}.ndjson").open("wb") as file:
            file.writelines(b"%b\n" % line for line in islice(lines, -(-size // FILES)))
    return folder


def _load_job(source: Path, store: str, *, cores: int = CORES) -> Job:
    """`fll spark load` as a process of its own, watched for the memory of its workers."""
    command = [str(Path(sys.executable).with_name("fll")), "spark", "load", str(source)]
    options = ["--store", store, "--namespace", NAMESPACE, "--master", f"local[{cores}]"]
    rejects = ["--rejects", str(source.with_suffix(".rejects"))]
    with subprocess.Popen(
        [*command, *options, *rejects], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        most = 0
        while process.poll() is None:
            most = max(most, *_worker_bytes(), 0)
            time.sleep(0.2)
        told = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise RuntimeError(f"load ended with {process.returncode}: {told}")
    return Job(json.loads(told), most)


def _worker_bytes() -> Iterator[int]:
    """The most memory that each Python worker of Spark on this machine had so far."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"pyspark.daemon" in (status.parent / "cmdline").read_bytes():
                (line,) = (said for said in status.read_text().splitlines() if said.startswith("VmHWM"))
                yield 1024 * int(line.split()[1])
        except (OSError, ValueError):
            continue  # it has just ended


@contextmanager
def _spark() -> Iterator[SparkSession]:
    spark = session("bench", master=f"local[{CORES}]", settings={"spark.ui.showConsoleProgress": "false"})
    try:
        yield spark
    finally:
        spark.stop()


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
