"""Request threads: reads and writes run, wait or are refused in lanes of their own, health apart from both.

A lane never uses all request threads, so neither kind of request waits for the other alone. A request that
would wait longer than its budget is refused at once (decision 18).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue
from typing import Protocol

WAITING_MAX = 1_000
"""Requests of one lane that wait for a thread."""

WEIGHT = 0.1
"""Share of the latest request in the mean time of a lane."""

_log = logging.getLogger(__name__)


class Job(Protocol):
    """A request whose turn it is: `service` answers it, `refuse` makes that answer a refusal."""

    def service(self) -> None:
        """Answer the request."""

    def refuse(self, detail: str) -> None:
        """Replace the answer by a 503 with this detail."""


@dataclass(slots=True)
class Lane:
    """Requests of one kind: at most `threads_max` run at a time, the others wait in order of arrival.

    `waiting` has the deadline of each request, `running` the time at which it began, both in monotonic
    seconds. `mean_seconds` is a moving average of the time that one takes.
    """

    threads_max: int
    waiting: deque[tuple[Job, float]] = field(default_factory=deque)
    running: dict[int, float] = field(default_factory=dict)
    mean_seconds: float = 0.0

    def seconds_to_wait(self, now: float) -> float:
        """Return the estimated seconds until a request that arrives at `now` begins, if no thread is free.

        Each waiting request and the new one take the mean time of a request, or the mean age of the running
        ones if that is longer; so the estimate is above 0 once a request was served. `now` is in monotonic
        seconds.
        """
        ages = [now - began for began in self.running.values()]
        # While the store hangs none ends, so the mean alone would stay as it was before.
        seconds = max(self.mean_seconds, sum(ages) / max(len(ages), 1))
        return (len(self.waiting) + 1) * seconds / self.threads_max

    def note(self, seconds: float, *, seconds_max: float) -> None:
        """Add the time that a request took to the moving average; it counts as at most `seconds_max`."""
        self.mean_seconds += WEIGHT * (min(seconds, seconds_max) - self.mean_seconds)

    def remove_late(self, now: float) -> list[Job]:
        """Remove and return the waiting requests with a deadline at or before `now` (monotonic seconds)."""
        late = [job for job, deadline in self.waiting if deadline <= now]
        if late:
            self.waiting = deque(entry for entry in self.waiting if entry[1] > now)
        return late


class Dispatcher:
    """Request threads with two lanes, and two more threads for what must never wait for these."""

    def __init__(self, *, threads: int, request_seconds: float) -> None:
        self._threads = threads
        self._request_seconds = request_seconds
        threads_max = max(1, threads - max(1, threads // 4))
        self.reads, self.writes = Lane(threads_max), Lane(threads_max)
        self._lock = threading.Lock()
        self._ready: SimpleQueue[tuple[Job, Lane, int]] = SimpleQueue()
        self._immediate: SimpleQueue[Job] = SimpleQueue()
        self._metrics: SimpleQueue[Job] = SimpleQueue()
        self._numbers = count()

    def start(self) -> None:
        """Start the threads; they end with the process."""
        for number in range(self._threads):
            threading.Thread(target=self._serve, name=f"request-{number}", daemon=True).start()
        for name, queue in (("health", self._immediate), ("metrics", self._metrics)):
            threading.Thread(target=_serve_queue, args=(queue,), name=name, daemon=True).start()

    def add_immediate(self, job: Job) -> None:
        """Queue a request that does not use the store for a thread of its own: health, or a refusal."""
        self._immediate.put(job)

    def add_metrics(self, job: Job) -> None:
        """Queue a request for metrics. Its own thread serves it: metrics matter most while others wait."""
        self._metrics.put(job)

    def add(self, job: Job, lane: Lane, *, deadline: float) -> None:
        """Run a request, let it wait for a thread, or refuse it with a 503 at once.

        It is refused if it would wait beyond `deadline` (monotonic seconds), or if WAITING_MAX requests wait.
        """
        now = time.monotonic()
        with self._lock:
            if self._has_thread(lane):
                self._run(job, lane)
                return
            seconds = lane.seconds_to_wait(now)
            if now + seconds <= deadline and len(lane.waiting) < WAITING_MAX:
                lane.waiting.append((job, deadline))
                return
            waiting = len(lane.waiting)
        self._refuse(job, f"{waiting} requests wait already, for about {seconds:.1f} s; try again later")

    def refuse_late(self) -> None:
        """Refuse the requests that waited until their deadline: all threads may be busy with others."""
        if self.reads.waiting or self.writes.waiting:
            with self._lock:
                late = self._remove_late(time.monotonic())
            self._refuse_all(late)

    @property
    def is_idle(self) -> bool:
        """Return whether no request runs or waits."""
        with self._lock:
            return not any(lane.running or lane.waiting for lane in (self.reads, self.writes))

    def _remove_late(self, now: float) -> list[Job]:
        return [*self.reads.remove_late(now), *self.writes.remove_late(now)]

    def _refuse_all(self, late: Iterable[Job]) -> None:
        """Answer jobs that waited too long for a thread with a 503."""
        for job in late:
            self._refuse(job, "no thread became free within the time of this request; try again later")

    def _refuse(self, job: Job, detail: str) -> None:
        """Let a request be answered with a 503 with this detail, by the thread of immediate requests."""
        job.refuse(detail)
        self.add_immediate(job)

    def _has_thread(self, lane: Lane) -> bool:
        running = len(self.reads.running) + len(self.writes.running)
        return running < self._threads and len(lane.running) < lane.threads_max

    def _run(self, job: Job, lane: Lane) -> None:
        """Hand a request to a thread; the caller holds the lock and knows that one is free."""
        number = next(self._numbers)
        lane.running[number] = time.monotonic()
        self._ready.put((job, lane, number))

    def _serve(self) -> None:
        """Answer the requests handed to the request threads, one after the other, for ever."""
        while True:
            job, lane, number = self._ready.get()
            _serve_safely(job.service)
            self._finish(lane, number)

    def _finish(self, lane: Lane, number: int) -> None:
        """Note the end of a job; start those that have a thread now, refuse those that waited too long."""
        now = time.monotonic()
        with self._lock:
            lane.note(now - lane.running.pop(number), seconds_max=self._request_seconds)
            # First, since a request without any time left would be answered as quickly as it is useless.
            late = self._remove_late(now)
            waiting = [other for other in (self.reads, self.writes) if other.waiting]
            for other in sorted(waiting, key=lambda other: other.waiting[0][1]):
                if self._has_thread(other):
                    self._run(other.waiting.popleft()[0], other)
        self._refuse_all(late)


def _serve_queue(queue: SimpleQueue[Job]) -> None:
    """Answer the requests of a queue one after the other, for ever."""
    while True:
        _serve_safely(queue.get().service)


def _serve_safely(service: Callable[[], None]) -> None:
    """Call a function; log any exception instead of raising it."""
    try:
        service()
    except Exception:  # noqa: BLE001 (of one request; the thread serves others)
        _log.exception("a request could not be answered")
