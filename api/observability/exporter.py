"""Metrics for Prometheus: the values of the package's metrics, summed over the processes of the server.

Each process writes its values into its own files in a common directory, and the process that answers a scrape
reads the files of all (decision 93). prometheus_client decides on import whether values are in files. This
module therefore imports it in functions, after the server has named the directory.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fll_hbase.runtime import metrics
from fll_hbase.runtime.release import VERSION

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX, _OWNER = "fll-metrics-", "owner"
"""Prefix of the name of the directory, and the file in it that the server keeps locked while it runs."""

_slot = 0
"""Number in the names of this process's files; 0 for the process that starts the workers."""

WORKERS = metrics.Gauge("fll_workers", "Worker processes that serve.")
WORKER_EXITS = metrics.Counter("fll_worker_exits_total", "Worker processes that ended, for whatever reason.")


@contextmanager
def shared_directory() -> Iterator[Path]:
    """Return a context with a new directory in which this process and those it forks share their metrics.

    Inside, PROMETHEUS_MULTIPROC_DIR names the directory. At the end, this process removes both. The call also
    removes directories that killed servers have left behind. Raises OSError if it cannot make the directory.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    owner = os.getpid()
    os.environ[_VARIABLE] = str(directory)
    try:
        with (directory / "new").open("w") as lock:
            # Forked processes inherit the lock, so it is free once all of them have ended.
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
            (directory / "new").rename(directory / _OWNER)
            yield directory
    finally:
        # Forked processes get here too, but only the owner removes the directory.
        if os.getpid() == owner:
            del os.environ[_VARIABLE]
            shutil.rmtree(directory, ignore_errors=True)


def process_directory() -> Path | None:
    """Return the directory that the processes of this server share, or None outside of a server."""
    directory = os.environ.get(_VARIABLE)
    return None if directory is None else Path(directory)


def _remove_abandoned(parent: Path) -> None:
    """Remove directories that killed servers of this user have left behind."""
    for directory in parent.glob(f"{_PREFIX}*"):
        # The next start tries again; a directory may also vanish meanwhile.
        with suppress(OSError):
            if directory.lstat().st_uid != os.getuid():
                continue
            with (directory / _OWNER).open() as lock:
                # Raises BlockingIOError, an OSError, while a process of that server runs.
                fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory)


@cache
def connect() -> CollectorRegistry:
    """Connect every metric of the package to Prometheus, once in a process; return their registry."""
    import prometheus_client
    from prometheus_client import values

    # Nothing reads the extra gauge with the time of the first value that each counter would have.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    if process_directory() is not None:
        values.ValueClass = values.MultiProcessValue(lambda: _slot)  # type: ignore[no-untyped-call]
    registry = prometheus_client.CollectorRegistry()
    metrics.export(lambda metric: _recorder(metric, registry))
    build = prometheus_client.Gauge(
        "fll_build_info",
        "The release that serves, as labels of the value 1.",
        ["version", "python"],
        registry=registry,
        multiprocess_mode="livemax",
    )
    build.labels(VERSION, platform.python_version()).set(1)
    return registry


def exposition() -> bytes:
    """Return the metrics of all processes of a server, or else of this process, as Prometheus text."""
    from prometheus_client import generate_latest

    registry = connect()
    directory = process_directory()
    if directory is None:
        return generate_latest(registry)
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


def use_slot(slot: int) -> None:
    """Record the values of this process in the files of this slot from now on, adding to what they contain.

    Two running processes never have the same slot. A process that replaces another one continues its
    counters, and no file is left behind.
    """
    global _slot
    _slot = slot


def free_slot(directory: Path, slot: int) -> None:
    """Remove the gauges of a process that has ended, whose values hold only while it runs."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(slot, str(directory))  # type: ignore[no-untyped-call]


def _has_values(path: Path) -> bool:
    """Return whether a file exists and is not empty; prometheus_client fails on an empty file.

    A file is empty when just created, and stays empty if its process is killed at that moment.
    """
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def _recorder(metric: metrics.Metric, registry: CollectorRegistry) -> metrics.Record:
    """Register a metric; return a function that records a value of it under label values."""
    import prometheus_client

    options: dict[str, Any] = {"registry": registry}
    add = "inc"
    if isinstance(metric, metrics.Histogram):
        exported: Any = prometheus_client.Histogram
        options["buckets"] = metric.buckets
        add = "observe"
    elif isinstance(metric, metrics.Gauge):
        exported = prometheus_client.Gauge
        options["multiprocess_mode"] = "livesum"
    else:
        exported = prometheus_client.Counter
    series = exported(metric.name, metric.description, metric.labels, **options)
    # prometheus_client's own lookup by labels would take as long as all the rest.
    by_labels: dict[tuple[str, ...], Callable[[float], None]] = {}

    def record(value: float, labels: tuple[str, ...]) -> None:
        child = by_labels.get(labels)
        if child is None:
            child = by_labels[labels] = getattr(series.labels(*labels) if labels else series, add)
        child(value)

    return record
