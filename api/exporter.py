"""Metrics for Prometheus: what the metrics of the package record, summed over the processes of the server.

Each process writes its values into files of its own in one directory; whichever process is asked reads the
files of all (decision 44). prometheus_client decides when it is imported whether values are in files, so this
module imports it in functions: the server names the directory first.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fll_hbase import metrics
from fll_hbase.errors import Overloaded

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX, _OWNER = "fll-metrics-", "owner"
"""Beginning of the name of the directory, and the file in it that the server has locked while it runs."""

_ENDED = "ended"
"""In place of a process id: the file with the sums of all processes that have ended."""

LOCK_SECONDS, LOCK_PAUSE_SECONDS = 0.5, 0.01
"""How long to wait for a process that reads or moves the files: it may have been stopped meanwhile."""

WORKERS = metrics.Gauge("fll_workers", "Worker processes that serve.")
WORKER_EXITS = metrics.Counter("fll_worker_exits_total", "Worker processes that ended, for whatever reason.")


@contextmanager
def shared_directory() -> Iterator[Path]:
    """Return a context with a directory in which this process and those it forks share their metrics."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    owner = os.getpid()
    os.environ[_VARIABLE] = str(directory)
    try:
        with (directory / "new").open("w") as lock:
            # Inherited by the processes that are forked: free once all of them have ended.
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
            (directory / "new").rename(directory / _OWNER)
            yield directory
    finally:
        # The processes that were forked meanwhile end here, too.
        if os.getpid() == owner:
            del os.environ[_VARIABLE]
            shutil.rmtree(directory, ignore_errors=True)


def process_directory() -> Path | None:
    """Return the directory that the processes of this server share; None outside of a server."""
    directory = os.environ.get(_VARIABLE)
    return None if directory is None else Path(directory)


def _remove_abandoned(parent: Path) -> None:
    """Remove the directories of this user's servers that were killed, which could not remove them."""
    for directory in parent.glob(f"{_PREFIX}*"):
        # The next start tries again; a directory may also vanish meanwhile.
        with suppress(OSError):
            if directory.lstat().st_uid != os.getuid():
                continue
            with (directory / _OWNER).open() as lock:
                if _try_lock(lock.fileno(), fcntl.LOCK_EX):
                    shutil.rmtree(directory)


@cache
def connect() -> CollectorRegistry:
    """Connect every metric of the package to Prometheus, once in a process; return what collects them."""
    import prometheus_client

    # A gauge of its own for each counter, with the time of its first value: nothing reads them.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = prometheus_client.CollectorRegistry()
    metrics.export(lambda metric: _recorder(metric, registry))
    build = prometheus_client.Gauge(
        "fll_build_info",
        "The release that serves, as labels of the value 1.",
        ["version", "python"],
        registry=registry,
        multiprocess_mode="livemax",
    )
    build.labels(version("fll-hbase"), platform.python_version()).set(1)
    return registry


def exposition() -> bytes:
    """Return all metrics in the text format of Prometheus. Raises Overloaded if the files are locked."""
    from prometheus_client import generate_latest

    registry = connect()
    directory = process_directory()
    if directory is None:
        return generate_latest(registry)
    with _locked(directory, fcntl.LOCK_SH) as is_locked:
        if not is_locked:
            raise Overloaded("the metrics are locked by another process; try again later")
        return generate_latest(_SharedFiles(directory))


class _SharedFiles:
    """The metrics in the files of all processes, as prometheus_client collects them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        """Return each metric once, summed over the processes."""
        from prometheus_client.multiprocess import MultiProcessCollector

        paths = [str(path) for path in self._directory.glob("*.db") if _has_values(path)]
        return MultiProcessCollector.merge(paths)  # type: ignore[no-any-return, no-untyped-call]


def add_ended(directory: Path, pid: int) -> bool:
    """Add the counters of a process that has ended to the sums, and remove its files.

    Without it the files of each process that was restarted would stay. Returns False if a process that reads
    them does not end: then call again later.
    """
    from prometheus_client.multiprocess import mark_process_dead

    with _locked(directory, fcntl.LOCK_EX) as is_locked:
        if is_locked:
            mark_process_dead(pid, str(directory))  # type: ignore[no-untyped-call]
            for kind in ("counter", "histogram"):
                _move_values(directory / f"{kind}_{pid}.db", directory / f"{kind}_{_ENDED}.db")
        return is_locked


def _move_values(source: Path, target: Path) -> None:
    from prometheus_client.mmap_dict import MmapedDict

    if not _has_values(source):
        source.unlink(missing_ok=True)
        return
    sums: Any = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(source)):  # type: ignore[no-untyped-call]
            sums.write_value(key, sums.read_value(key)[0] + value, 0.0)
    finally:
        sums.close()
    source.unlink()


def _has_values(path: Path) -> bool:
    """Return whether a file can be read: prometheus_client fails on one that its process has just created.

    Such a file stays empty if its process was killed at that moment.
    """
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


@contextmanager
def _locked(directory: Path, kind: int) -> Iterator[bool]:
    """Return a context with a lock on the files of all processes; False if another one has it too long."""
    with (directory / "lock").open("a") as lock:
        until = time.monotonic() + LOCK_SECONDS
        while not (is_locked := _try_lock(lock.fileno(), kind)) and time.monotonic() < until:
            time.sleep(LOCK_PAUSE_SECONDS)
        # Closing the file unlocks it.
        yield is_locked


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _recorder(metric: metrics.Metric, registry: CollectorRegistry) -> metrics.Record:
    """Return what records values of a metric."""
    add = _adder(metric, registry)
    # Not prometheus_client's own lookup by labels, which takes as long as all the rest.
    by_labels: dict[tuple[str, ...], Callable[[float], None]] = {}

    def record(value: float, labels: tuple[str, ...]) -> None:
        child = by_labels.get(labels)
        if child is None:
            child = by_labels[labels] = add(labels)
        child(value)

    return record


def _adder(
    metric: metrics.Metric, registry: CollectorRegistry
) -> Callable[[tuple[str, ...]], Callable[[float], None]]:
    """Return a function from values of the labels to what adds a value."""
    import prometheus_client

    if isinstance(metric, metrics.Histogram):
        histogram = prometheus_client.Histogram(
            metric.name, metric.description, metric.labels, registry=registry, buckets=metric.buckets
        )
        return lambda labels: (histogram.labels(*labels) if labels else histogram).observe
    if isinstance(metric, metrics.Gauge):
        gauge = prometheus_client.Gauge(
            metric.name, metric.description, metric.labels, registry=registry, multiprocess_mode="livesum"
        )
        return lambda labels: (gauge.labels(*labels) if labels else gauge).inc
    counter = prometheus_client.Counter(metric.name, metric.description, metric.labels, registry=registry)
    return lambda labels: (counter.labels(*labels) if labels else counter).inc
