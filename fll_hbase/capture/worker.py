"""The thread of one captured application, which follows its plan file and sends its lineage to the server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from fll_hbase.capture.compiler import Listener
from fll_hbase.capture.plan_delivery import PlanDelivery, send_left
from fll_hbase.capture.plan_spool import Losses, PlanFile, PlanSpool
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.runtime.errors import LineageError

_log = logging.getLogger("fll_hbase.capture")

POLL_SECONDS = 0.5

LEFT_POLL_SECONDS = 60.0
"""Interval between searches for files of ended applications."""

ATTEMPT_SECONDS_MIN = 0.1

DRAIN_SECONDS = 1.0
"""Time that a replaced worker waits for lineage that Spark has already executed."""

STOP_SECONDS = 1.0
"""Part of the closing time reserved for the end of the plan file and for storing losses."""

PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 1.0, 60.0
"""The pause doubles with each failed attempt."""

URGENT_SECONDS = 0.5
"""The pause while a caller waits."""

RETRY_AFTER_SECONDS_MAX = 600.0

T = TypeVar("T")


class Pauses:
    """Decides when the next attempt may be made. Not safe for threads."""

    def __init__(self, spool: Path) -> None:
        """Begin without a pause; logs name `spool` as the place where lineage waits."""
        self._spool = spool
        self._pause_seconds = 0.0
        self._failed_at = 0.0
        self._retry_after_seconds = 0.0
        self._reported: type[LineageError] | None = None

    def blocked_seconds(self, *, is_urgent: bool) -> float:
        """Return the seconds until the next attempt, 0 or less if it may be made now.

        Urgency shortens our pause, but not the server's.
        """
        if not self._pause_seconds:
            return 0.0
        pause = min(self._pause_seconds, URGENT_SECONDS) if is_urgent else self._pause_seconds
        return self._failed_at + max(pause, self._retry_after_seconds) - time.monotonic()

    def add_failure(self, error: LineageError) -> None:
        """Count a failed attempt, which doubles the pause; log it unless its class was logged last."""
        self._failed_at = time.monotonic()
        self._retry_after_seconds = min(getattr(error, "retry_after_seconds", 0.0), RETRY_AFTER_SECONDS_MAX)
        self._pause_seconds = min(max(2 * self._pause_seconds, PAUSE_SECONDS_FIRST), PAUSE_SECONDS_MAX)
        if self._reported is not type(error):
            _log.warning("lineage waits in %s, and is sent later: %s", self._spool, error)
            self._reported = type(error)

    def report_end(self) -> None:
        """Log that plans wait when capture ends, unless a failure has been logged since the last success."""
        if self._reported is None:
            _log.warning("lineage waits in %s, and is sent later: capture ends first", self._spool)

    def add_success(self) -> None:
        """End the pauses; log that the server accepts lineage again if a failure was logged."""
        self._pause_seconds = self._retry_after_seconds = 0.0
        if self._reported:
            _log.info("the server accepts lineage again")
            self._reported = None


class Progress(Enum):
    """The outcome of an attempt to send."""

    SENT = "sent"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class _Request:
    """Requests of callers: the number of the latest flush, or the end of capture, until `deadline`."""

    flush: int
    is_urgent: bool
    is_closing: bool
    deadline: float

    def seconds_left(self) -> float:
        """Return the seconds until the deadline, 0 once it has passed."""
        return max(self.deadline - time.monotonic(), 0.0)


class CaptureWorker:
    """Delivers the plans of one application, and plans that ended applications left for the same server.

    A daemon thread, which the constructor starts, makes all calls to the JVM and to the server, so that
    callers wait no longer than they want. Only `replace` calls the JVM itself.
    """

    def __init__(
        self, spool: PlanSpool, plan_file: PlanFile, listener: Listener, client: HttpSession
    ) -> None:
        self._delivery = PlanDelivery(plan_file)
        self._listener = listener
        self._client = client
        self._spool = spool
        self._pauses = Pauses(spool.path)
        self._left: Iterator[PlanDelivery] = iter(())
        self._left_next = 0.0
        self._is_stopped = False
        # Shared with callers; guarded by the condition.
        self._condition = threading.Condition()
        self._requested = self._completed = 0
        self._deadline = 0.0
        self._is_closing = self._is_done = False
        threading.Thread(target=self._run, name="fll-capture", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Return whether the thread has ended: everything is recorded, or capture was closed or failed."""
        return self._is_done

    def flush(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether everything executed before the call is recorded."""
        with self._condition:
            self._requested += 1
            number = self._requested
            self._deadline = max(self._deadline, time.monotonic() + seconds)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._completed >= number or self._is_done, seconds)
            return self._completed >= number or self._delivery.is_complete

    def close(self, seconds: float) -> bool:
        """End capture of the application, waiting up to `seconds`; return whether all of it is recorded.

        The next application with the same spool sends the rest; a log line says so.
        """
        with self._condition:
            self._is_closing = True
            self._deadline = time.monotonic() + seconds
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._is_done, seconds)
        if not self._delivery.is_complete:
            self._pauses.report_end()
        return self._delivery.is_complete

    def replace(self, seconds: float) -> None:
        """End capture of the application, whose plans the thread sends for `seconds`.

        Waits up to DRAIN_SECONDS for events of Spark, but not for the server. Executions after this call are
        not in the plan file.
        """
        with self._condition:
            self._is_closing = True
            self._deadline = time.monotonic() + seconds
            self._condition.notify_all()
        # Called here, not by the thread, which may be waiting for the server.
        _call(lambda: self._listener.wait_until_empty(DRAIN_SECONDS), False)
        _call(self._listener.stop, None)

    def _run(self) -> None:
        """Run cycles until the end, log an error that ends them early, and release all resources."""
        try:
            while self._cycle():
                pass
        except LineageError as error:
            _log.warning("capture ended: %s", error)
        except Exception:  # noqa: BLE001 (a bug of capture must not reach the job)
            # An uncaught exception in a thread would look like a fault of the job.
            _log.exception("capture ended; plans stay in %s", self._spool.path)
        finally:
            self._left = iter(())
            if not self._delivery.is_complete:
                self._delivery.plan_file.close()
            self._client.close()
            _call(self._listener.disconnect, None)
            with self._condition:
                self._is_done = True
                self._condition.notify_all()

    def _cycle(self) -> bool:
        """Send what is available, then wait unless there is more; return whether to go on."""
        request = self._latest_request()
        is_drained = self._is_stopped or not request.is_urgent or self._drain_listener(request)
        progress = self._attempt(
            lambda seconds: self._delivery.step(self._client, wait_seconds=seconds), request
        )
        if progress is Progress.IDLE and self._complete(request, is_drained=is_drained):
            progress = Progress.SENT
        if self._delivery.is_complete:
            return False
        if request.is_closing and not request.seconds_left():
            self._stop_listener()
            return False
        if progress is not Progress.SENT and not request.is_urgent:
            progress = self._attempt(self._send_left, request)
        if progress is not Progress.SENT:
            self._wait(request)
        return True

    def _latest_request(self) -> _Request:
        """Return a snapshot of the callers' requests."""
        with self._condition:
            is_urgent = self._is_closing or self._requested > self._completed
            return _Request(self._requested, is_urgent, self._is_closing, self._deadline)

    def _drain_listener(self, request: _Request) -> bool:
        """Wait, at most until the deadline, for the JVM to write its events; return whether all are written.

        True, too, if the JVM has ended. If capture is closing, end the file when no line waits for room or
        little time (STOP_SECONDS) is left.
        """
        is_drained = _call(lambda: self._listener.wait_until_empty(request.seconds_left()), True)
        if request.is_closing and (request.seconds_left() <= STOP_SECONDS or not self._waiting_lines()):
            self._stop_listener()
        return is_drained

    def _stop_listener(self) -> None:
        """End the plan file and store the losses, once: a full disk has no room for the last line."""
        if not self._is_stopped:
            _call(self._listener.stop, None)
            self._is_stopped = True
            losses = Losses(_call(self._listener.dropped, 0), _call(self._listener.missed, 0))
            self._delivery.report_losses(losses)

    def _waiting_lines(self) -> int:
        """Return how many lines the JVM still has to write, or 0 if it has ended."""
        return _call(self._listener.waiting, 0)

    def _attempt(self, send: Callable[[float | None], bool], request: _Request) -> Progress:
        """Call `send`, but not in a pause; FAILED then or after an error, else SENT or IDLE by its result."""
        if self._pauses.blocked_seconds(is_urgent=request.is_urgent) > 0:
            return Progress.FAILED
        reserved = 0.0 if self._is_stopped else STOP_SECONDS
        seconds = max(request.seconds_left() - reserved, ATTEMPT_SECONDS_MIN)
        try:
            is_sent = send(seconds if request.is_closing else None)
        except LineageError as error:
            self._pauses.add_failure(error)
            return Progress.FAILED
        if not is_sent:
            return Progress.IDLE
        self._pauses.add_success()
        return Progress.SENT

    def _complete(self, request: _Request, *, is_drained: bool) -> bool:
        """Take the next step with the plan file. Everything read from it has been sent.

        Once the listener has stopped, finish the file, and at the next call remove it. Before, empty it if
        lines wait for room or it is half full. Answer callers if Spark's events are drained and no line
        waits. Returns whether lines that waited for room in the file are in it now.
        """
        if self._is_stopped and not self._delivery.is_finished:
            self._delivery.finish()
            return False
        if self._delivery.is_finished:
            self._delivery.complete()
        elif not self._is_stopped:
            waiting = self._waiting_lines()
            if waiting or self._delivery.is_half_full:
                self._delivery.restart(
                    lambda recorded: _call(lambda: self._listener.restart(recorded), False)
                )
            if waiting:
                return self._waiting_lines() < waiting
        if is_drained:
            with self._condition:
                self._completed = request.flush
                self._condition.notify_all()
        return False

    def _send_left(self, _: float | None) -> bool:
        """Take a step with ended applications' files, sought each LEFT_POLL_SECONDS; False if none."""
        if next(self._left, None) is not None:
            return True
        if time.monotonic() < self._left_next:
            return False
        # Also after an error, because the iterator that raised it has ended.
        self._left_next = time.monotonic() + LEFT_POLL_SECONDS
        destination = self._delivery.plan_file.head.destination
        self._left = send_left(self._spool, self._client, destination=destination)
        return next(self._left, None) is not None

    def _wait(self, request: _Request) -> None:
        """Wait for POLL_SECONDS, a fifth if a caller waits, or until the next request of a caller."""
        seconds = POLL_SECONDS / 5 if request.is_urgent else POLL_SECONDS
        with self._condition:
            is_new = self._requested > request.flush or self._is_closing > request.is_closing
            if not is_new:
                self._condition.wait(seconds)


def _call(method: Callable[[], T], default: T) -> T:
    """Return the result of a method of the listener, or a default if it raises, as when the JVM has ended."""
    try:
        return method()
    except Exception as error:  # noqa: BLE001 (py4j raises several, none of which concerns the job)
        _log.debug("the JVM does not answer: %s", error)
        return default
