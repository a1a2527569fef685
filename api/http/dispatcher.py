"""Request threads: reads and writes run, wait or are refused in lanes of their own, health apart from both.

A lane never uses all request threads, so neither kind of request waits for the other alone. A request that
would wait longer than its budget is refused at once (decision 18). Of those that wait the next one is of the
client that runs the fewest, and a client that runs none finds threads that no other may use (decision 99).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Protocol

from .client_work import Client, LongRequests, Presence

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
    """Requests of one kind: at most `threads_max` run at a time, the others wait, those of a client in order.

    A client may run `client_max` of them; a batch is of a lane of its own beside that of the other requests
    of its `kind`. `waiting` has each request with its deadline, by client, `running` the client and the time
    at which it began, both in monotonic seconds. `mean_seconds` is a moving average of the time that one
    takes.
    """

    threads_max: int
    client_max: int
    kind: str = ""
    waiting: dict[Client, deque[tuple[Job, float]]] = field(default_factory=dict)
    running: dict[int, tuple[Client, float]] = field(default_factory=dict)
    running_of: Counter[Client] = field(default_factory=Counter)
    long: LongRequests = field(default_factory=LongRequests)
    mean_seconds: float = 0.0

    @property
    def waiting_count(self) -> int:
        """Return how many requests of all clients wait."""
        return sum(map(len, self.waiting.values()))

    def seconds_to_wait(self, client: Client, now: float, *, client_max: int | None = None) -> float:
        """Return the estimated seconds until a request that arrives at `now` begins, if no thread is free.

        The threads are shared by the clients that run or wait; of these the client has `client_max` at most.
        Each waiting request of this one and the new one take the mean time of a request, or the mean age of
        the running ones if that is longer, so the estimate is above 0 once a request was served. `now` is in
        monotonic seconds.
        """
        ages = [now - began for _, began in self.running.values()]
        # While the store hangs none ends, so the mean alone would stay as it was before.
        seconds = max(self.mean_seconds, sum(ages) / max(len(ages), 1))
        clients = len({client, *self.waiting, *self.running_of})
        threads = min(self.threads_max / clients, client_max or self.client_max)
        return (len(self.waiting.get(client, ())) + 1) * seconds / threads

    def begin(self, client: Client, number: int) -> None:
        """Note that a request begins now."""
        self.running[number] = client, time.monotonic()
        self.running_of[client] += 1

    def end(self, number: int, now: float, *, seconds_max: float) -> None:
        """Note that a request ended, and its time, which counts as at most `seconds_max`, in the average."""
        client, began = self.running.pop(number)
        self.running_of[client] -= 1
        if not self.running_of[client]:
            # As many clients as requests that run: nothing grows.
            del self.running_of[client]
        self.note(now - began, seconds_max=seconds_max)

    def note(self, seconds: float, *, seconds_max: float) -> None:
        """Add the time that a request took to the moving average. It counts as at most `seconds_max`."""
        self.mean_seconds += WEIGHT * (min(seconds, seconds_max) - self.mean_seconds)

    def push(self, client: Client, job: Job, deadline: float) -> None:
        """Let a request wait, the last of its client."""
        self.waiting.setdefault(client, deque()).append((job, deadline))

    def pop(self, client: Client, *, last: bool = False) -> Job:
        """Remove and return the first waiting request of a client, or its last one.

        The client is then the last in `waiting`: its next request has its turn after those of the others.
        """
        jobs = self.waiting.pop(client)
        job, _ = jobs.pop() if last else jobs.popleft()
        if jobs:
            self.waiting[client] = jobs
        return job

    def remove_late(self, now: float) -> list[Job]:
        """Remove and return the waiting requests with a deadline at or before `now` (monotonic seconds)."""
        late = [job for jobs in self.waiting.values() for job, deadline in jobs if deadline <= now]
        if late:
            waiting = {
                client: deque(entry for entry in jobs if entry[1] > now)
                for client, jobs in self.waiting.items()
            }
            self.waiting = {client: jobs for client, jobs in waiting.items() if jobs}
        return late


class Dispatcher:
    """Request threads with two lanes for each kind, and two more threads for what must never wait."""

    def __init__(self, *, threads: int, request_seconds: float) -> None:
        self._threads = threads
        self._request_seconds = request_seconds
        self._spare = max(1, threads // 4)
        self._kind_max = max(1, threads - self._spare)
        self.reads, self.writes = (Lane(self._kind_max, self._kind_max, kind) for kind in ("reads", "writes"))
        # Most of the time of a process is that of one thread: more of them would only take turns.
        batches_max = max(1, threads // 2)
        self.read_batches, self.write_batches = (
            Lane(batches_max, batches_max, kind) for kind in ("reads", "writes")
        )
        self._presence = Presence()
        self._lanes = (self.reads, self.writes, self.read_batches, self.write_batches)
        self._lock = threading.Lock()
        self._ready: SimpleQueue[tuple[Job, Lane, int]] = SimpleQueue()
        self._immediate: SimpleQueue[Job] = SimpleQueue()
        self._metrics: SimpleQueue[Job] = SimpleQueue()
        self._numbers = count()

    def lane(self, *, is_read: bool, is_batch: bool) -> Lane:
        """Return the lane of a request: that of its kind, batches apart."""
        if is_batch:
            return self.read_batches if is_read else self.write_batches
        return self.reads if is_read else self.writes

    def start(self) -> None:
        """Start the threads. They end with the process."""
        for number in range(self._threads + 2 * self._spare):
            threading.Thread(target=self._serve, name=f"request-{number}", daemon=True).start()
        for name, queue in (("health", self._immediate), ("metrics", self._metrics)):
            threading.Thread(target=_serve_queue, args=(queue,), name=name, daemon=True).start()

    def add_immediate(self, job: Job) -> None:
        """Queue a request that does not use the store for a thread of its own: health, or a refusal."""
        self._immediate.put(job)

    def add_metrics(self, job: Job) -> None:
        """Queue a request for metrics. Its own thread serves it: metrics matter most while others wait."""
        self._metrics.put(job)

    def add(self, job: Job, lane: Lane, client: Client, *, deadline: float) -> None:
        """Run a request, let it wait for a thread, or refuse it with a 503 at once.

        It is refused if it would wait beyond `deadline` (monotonic seconds). If WAITING_MAX requests wait,
        the last of the client with the most is refused.
        """
        now = time.monotonic()
        with self._lock:
            self._presence.note(client, now)
            if self._has_thread(lane, client, now):
                self._run(job, lane, client)
                return
            most = self._client_max(lane, client, now)
            seconds, waiting = lane.seconds_to_wait(client, now, client_max=most), lane.waiting_count
            if now + seconds <= deadline:
                lane.push(client, job, deadline)
                if waiting < WAITING_MAX:
                    return
                job = lane.pop(max(lane.waiting, key=lambda other: len(lane.waiting[other])), last=True)
        self._refuse(job, f"{waiting} requests wait already, for about {seconds:.1f} s; try again later")

    def refuse_late(self) -> None:
        """Refuse the requests that waited until their deadline: all threads may be busy with others."""
        if any(lane.waiting for lane in self._lanes):
            with self._lock:
                late = self._remove_late(time.monotonic())
            self._refuse_all(late)

    def is_alone(self, client: Client) -> bool:
        """Return whether a client is the only one: no other one runs or waits, or did a moment ago."""
        with self._lock:
            return self._is_alone(client, time.monotonic())

    @property
    def is_idle(self) -> bool:
        """Return whether no request runs or waits."""
        with self._lock:
            return not any(lane.running or lane.waiting for lane in self._lanes)

    def _remove_late(self, now: float) -> list[Job]:
        return [job for lane in self._lanes for job in lane.remove_late(now)]

    def _refuse_all(self, late: Iterable[Job]) -> None:
        """Answer jobs that waited too long for a thread with a 503."""
        for job in late:
            self._refuse(job, "no thread became free within the time of this request; try again later")

    def _refuse(self, job: Job, detail: str) -> None:
        """Let a request be answered with a 503 with this detail, by the thread of immediate requests."""
        job.refuse(detail)
        self.add_immediate(job)

    def _has_thread(self, lane: Lane, client: Client, now: float) -> bool:
        """Return whether a request may begin: a thread is free, and its client has not too many."""
        # Whatever the others do, a client that runs nothing of a kind finds some threads kept for it.
        spare = 0 if self._running_of(lane, client) else self._spare
        return self._may_run(lane, client, now) and self._has_room(lane, spare)

    def _may_run(self, lane: Lane, client: Client, now: float) -> bool:
        """Return whether a client may run one more request of a lane, if there is a thread for it."""
        running = lane.running_of[client]
        return not running or running < self._client_max(lane, client, now)

    def _client_max(self, lane: Lane, client: Client, now: float) -> int:
        """Return how many requests of a lane a client may run.

        Beside others it is one if they take the processor for long: more at once would end no sooner, since
        the interpreter runs one at a time, and of others each step would wait for all of them. Batches of
        documents take turns themselves, part by part.
        """
        if lane is self.write_batches or not lane.long.has_long(client, now) or self._is_alone(client, now):
            return lane.client_max
        return 1

    def _is_alone(self, client: Client, now: float) -> bool:
        """Return whether a client is the only one; the caller holds the lock."""
        busy = {other for lane in self._lanes for other in (*lane.running_of, *lane.waiting)}
        return busy <= {client} and self._presence.is_alone(client, now)

    def _has_room(self, lane: Lane, spare: int) -> bool:
        """Return whether a thread is free for a lane, if it may use so many of those that are kept."""
        # Batches on threads that are kept take none from the other requests of their kind, which are short.
        batches = self.lane(is_read=lane.kind == self.reads.kind, is_batch=True)
        kind_running = sum(len(other.running) for other in self._lanes if other.kind == lane.kind)
        kind_running -= max(len(batches.running) - batches.threads_max, 0)
        running = sum(len(other.running) for other in self._lanes)
        return (
            running < self._threads + 2 * spare
            and kind_running < self._kind_max + spare
            and len(lane.running) < lane.threads_max + spare
        )

    def _running_of(self, lane: Lane, client: Client) -> int:
        """Return how many requests of the kind of a lane a client runs."""
        return sum(other.running_of[client] for other in self._lanes if other.kind == lane.kind)

    def _run(self, job: Job, lane: Lane, client: Client) -> None:
        """Hand a request to a thread; the caller holds the lock and knows that one is free."""
        number = next(self._numbers)
        lane.begin(client, number)
        self._ready.put((job, lane, number))

    def _serve(self) -> None:
        """Answer the requests handed to the request threads, one after the other, for ever."""
        while True:
            job, lane, number = self._ready.get()
            began = time.thread_time()
            _serve_safely(job.service)
            self._finish(lane, number, time.thread_time() - began)

    def _finish(self, lane: Lane, number: int, processor_seconds: float) -> None:
        """Note the end of a job; start those that have a thread now, refuse those that waited too long."""
        now = time.monotonic()
        with self._lock:
            lane.long.note(lane.running[number][0], processor_seconds, now)
            lane.end(number, now, seconds_max=self._request_seconds)
            # First, since a request without any time left would be answered as quickly as it is useless.
            late = self._remove_late(now)
            while following := self._following(now):
                self._run(following[0].pop(following[1]), *following)
        self._refuse_all(late)

    def _following(self, now: float) -> tuple[Lane, Client] | None:
        """Return lane and client of the next request to begin, None without one or without a thread for it.

        It is of the client that runs the fewest of its kind, and of these of the one that began none for
        longest.
        """
        candidates = [
            (lane, client) for lane in self._lanes if (client := self._first_client(lane, now)) is not None
        ]
        return min(
            candidates,
            key=lambda entry: (self._running_of(*entry), entry[0].waiting[entry[1]][0][1]),
            default=None,
        )

    def _first_client(self, lane: Lane, now: float) -> Client | None:
        """Return the client of the request of a lane that begins next, or None if none may begin."""
        if not lane.waiting:
            return None
        # By whether a client runs some of the kind and not for each, since a thousand may wait.
        has_room = {True: self._has_room(lane, 0), False: self._has_room(lane, self._spare)}
        may_begin = (
            client
            for client in lane.waiting
            if has_room[self._running_of(lane, client) > 0] and self._may_run(lane, client, now)
        )
        return min(may_begin, key=partial(self._running_of, lane), default=None)


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
