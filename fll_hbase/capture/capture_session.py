"""Capture of the applications of this process: switched on, waited for and switched off.

Nothing here raises, whatever the settings, Spark and the server do, because the job is more important.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from fll_hbase.capture.capture_settings import CaptureSettings, read_settings
from fll_hbase.capture.compiler import CaptureUnavailable, start_listener
from fll_hbase.capture.plan_spool import PlanSpool, open_plan_spool
from fll_hbase.capture.worker import CaptureWorker
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.runtime.errors import ConfigurationError, LineageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger("fll_hbase.capture")

EXIT_SECONDS = 5.0
"""Total time that the end of the process waits for unrecorded lineage."""

FLUSH_SECONDS = 30.0

WAIT_SECONDS_MAX = 86_400.0 * 30


@dataclass(frozen=True, slots=True)
class _Capture:
    """One captured application; `process` is the process that installed it, not a fork."""

    context: SparkContext
    settings: CaptureSettings
    worker: CaptureWorker
    process: int


_captures: list[_Capture] = []
_replaced: list[_Capture] = []
_lock = threading.RLock()
_tried: WeakSet[object] = WeakSet()


def install(
    spark: SparkSession,
    url: str | None = None,
    *,
    namespace: str | None = None,
    spool: str | Path | None = None,
    literals: bool | None = None,
) -> bool:
    """Capture what the application of a session writes from now on.

    Returns whether these settings capture. Arguments override `spark.fll.capture.*`, which override
    `FLL_CAPTURE_*` (docs/record/spark.md). Without a URL nothing is done. Any failure is logged, and the job
    goes on. Calling this again does nothing, or replaces the settings if they differ. A new SparkContext
    needs another call.
    """
    try:
        arguments = {
            "capture_url": url,
            "capture_namespace": namespace,
            "capture_spool": None if spool is None else str(spool),
            "capture_literals": literals,
        }
        context = getattr(spark, "_sc", None)
        settings = read_settings(arguments, context.getConf().get if context else lambda _: None)
        if settings is not None and context is None:
            raise CaptureUnavailable("a session of Spark Connect has no JVM of its own")
        return settings is not None and context is not None and _install(context, settings)
    except LineageError as error:
        _log.warning("capture is off: %s", error)
    except Exception:  # noqa: BLE001 (the job goes on, whatever py4j raises)
        _log.exception("capture is off")
    return False


def install_once(spark: SparkSession) -> None:
    """Capture a session's application by its settings, unless that was tried before, even in vain."""
    context = getattr(spark, "_sc", spark)
    if context not in _tried:
        _tried.add(context)
        install(spark)


def flush(timeout: float | None = FLUSH_SECONDS) -> bool:
    """Wait until the server has recorded everything written until now; return whether it has.

    Returns True without capture. `timeout` is in seconds, for all applications together. None sets no limit.
    """
    deadline = _deadline(timeout)
    results = [capture.worker.flush(_left(deadline)) for capture in _running()]
    return all(results)


def uninstall(timeout: float | None = EXIT_SECONDS) -> bool:
    """End the capture of all applications of this process; return whether all lineage is recorded.

    Returns True without capture. The next application with the same spool sends lineage that is not recorded
    within `timeout` seconds.
    """
    deadline = _deadline(timeout)
    with _lock:
        captures = _running()
        _captures.clear()
        _replaced.clear()
    results = [capture.worker.close(_left(deadline)) for capture in captures]
    return all(results)


def _install(context: SparkContext, settings: CaptureSettings) -> bool:
    """Start capture in a context unless it runs with these settings; return True. Raises LineageError.

    Capture with other settings ends first, even if the new one then fails to start.
    """
    with _lock:
        for captures in (_captures, _replaced):
            captures[:] = _unfinished(captures)
        for capture in _captures:
            if capture.context is context:
                if capture.settings == settings:
                    return True
                _captures.remove(capture)
                _replaced.append(capture)
                capture.worker.replace(EXIT_SECONDS)
                break
        _captures.append(_Capture(context, settings, _start(context, settings), os.getpid()))
    _log.info("lineage of this application goes to %s", settings.destination)
    return True


def _start(context: SparkContext, settings: CaptureSettings) -> CaptureWorker:
    """Start the listener and the thread of an application. Raises LineageError."""
    client, spool = _open(settings)
    plan_file = spool.create(
        settings.destination,
        settings.namespace,
        literals=settings.literals,
        bytes_max=settings.bytes_max,
    )
    try:
        listener = start_listener(context, str(plan_file.path), plan_file.head.bytes_max, settings.literals)
    except BaseException:
        plan_file.remove()
        client.close()
        raise
    return CaptureWorker(spool, plan_file, listener, client)


def _open(settings: CaptureSettings) -> tuple[HttpSession, PlanSpool]:
    """Open the server's session and the spool of plans. Raises ConfigurationError with the faults of both."""
    faults = []
    client = spool = None
    try:
        # A single attempt; the thread repeats it.
        client = HttpSession(settings.url, timeout_seconds=0.0, token=settings.token)
    except ConfigurationError as error:
        faults.append(str(error))
    try:
        spool = open_plan_spool(settings.spool)
    except ConfigurationError as error:
        faults.append(str(error))
    if client is None or spool is None:
        raise ConfigurationError("; ".join(faults))
    return client, spool


def _running() -> list[_Capture]:
    """Return the captures of this process that are still running, replaced ones first."""
    return _unfinished([*_replaced, *_captures])


def _unfinished(captures: Iterable[_Capture]) -> list[_Capture]:
    """Return the captures that this process, not its parent, started and that are still running."""
    return [capture for capture in captures if capture.process == os.getpid() and not capture.worker.is_done]


def _deadline(timeout: float | None) -> float:
    """Return the monotonic time at which a wait ends, within the longest wait that Python allows."""
    return time.monotonic() + min(WAIT_SECONDS_MAX if timeout is None else timeout, WAIT_SECONDS_MAX)


def _left(deadline: float) -> float:
    """Return the seconds until a monotonic time, 0 once it has passed."""
    return max(deadline - time.monotonic(), 0.0)


@atexit.register
def _close_at_exit() -> None:
    """End captures when the process ends, waiting up to EXIT_SECONDS in total; does nothing in a fork."""
    # A fork could wait forever for a lock that another thread of its parent held.
    if _running():
        with suppress(KeyboardInterrupt):
            uninstall(EXIT_SECONDS)
