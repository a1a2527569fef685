"""Request threads: reads and writes run, wait or are refused in separate lanes; health has its own thread.

A lane never uses all request threads, so reads never wait for writes alone, nor writes for reads alone. A
request that would wait longer than its budget is refused at once (decision 18). The next waiting request to
run belongs to the client that runs the fewest. A client that runs none finds threads that are kept for it
(decision 99).
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

from ..security.limits import Client
from .clients import LongRequests, Presence

WAITING_MAX = 1_000
"""Requests of one lane that wait for a thread."""

WEIGHT = 0.1
"""Weight of the latest request in the running mean of a lane's times."""

_log = logging.getLogger(__name__)


class Job(Protocol):
    """A request to answer: `service` answers it; `refuse`, called before, makes the answer a refusal."""

    def service(self) -> None:
        """Answer the request."""

    def refuse(self, detail: str) -> None:
        """Make the answer a 503 with this detail."""


@dataclass(slots=True)
class Lane:
    """Requests of one kind: at most `threads_max` run at a time, the others wait, in order for each client.

    A client may run `client_max` of them. Batches have a lane of their own with the same `kind` as the other
    requests. `waiting` maps each client to its requests and their deadlines; `running` maps the number of a
    request to its client and start, both times in monotonic seconds. `mean_seconds` is a moving average of
    the time that a request takes.
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

        The clients that run or wait share the threads evenly, and this client has at most `client_max`. Each
        of its waiting requests, and the new one, takes the mean time of a request, or the mean age of the
        running ones if that is longer. The estimate is therefore above 0 once a request was served. `now` is
        in monotonic seconds.
        """
        ages = [now - began for _, began in self.running.values()]
        # While the store hangs no request ends, so the mean alone would not grow.
        seconds = max(self.mean_seconds, sum(ages) / max(len(ages), 1))
        clients = len({client, *self.waiting, *self.running_of})
        threads = min(self.threads_max / clients, client_max or self.client_max)
        return (len(self.waiting.get(client, ())) + 1) * seconds / threads

    def begin(self, client: Client, number: int) -> None:
        """Note that a request begins now."""
        self.running[number] = client, time.monotonic()
        self.running_of[client] += 1

    def end(self, number: int, now: float, *, seconds_max: float) -> None:
        """Note that a request ended and add its time, at most `seconds_max`, to the average."""
        client, began = self.running.pop(number)
        # Removes a client without running requests, so the counter does not grow.
        self.running_of -= Counter([client])
        self.note(now - began, seconds_max=seconds_max)

    def note(self, seconds: float, *, seconds_max: float) -> None:
        """Add the time of a request, at most `seconds_max`, to the moving average."""
        self.mean_seconds += WEIGHT * (min(seconds, seconds_max) - self.mean_seconds)

    def push(self, client: Client, job: Job, deadline: float) -> None:
        """Append a request to the waiting requests of its client."""
        self.waiting.setdefault(client, deque()).append((job, deadline))

    def pop(self, client: Client, *, last: bool = False) -> Job:
        """Remove and return the first waiting request of a client, or its last one. KeyError without any.

        The client moves to the end of `waiting`, so the other clients have their turn before its next
        request.
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
    """Request threads with two lanes for each kind, and two threads for requests that must never wait."""

    def __init__(self, *, threads: int, request_seconds: float) -> None:
        self._threads = threads
        self._request_seconds = request_seconds
        self._spare = max(1, threads // 4)
        self._kind_max = max(1, threads - self._spare)
        self.reads, self.writes = (Lane(self._kind_max, self._kind_max, kind) for kind in ("reads", "writes"))
        # The interpreter runs one thread at a time, so more batches at once would only take turns.
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
        """Return the lane for a kind of request; batches have lanes of their own."""
        if is_batch:
            return self.read_batches if is_read else self.write_batches
        return self.reads if is_read else self.writes

    def start(self) -> None:
        """Start all threads: `threads`, twice the spare ones, health, metrics. They end with the process."""
        for number in range(self._threads + 2 * self._spare):
            threading.Thread(target=self._serve, name=f"request-{number}", daemon=True).start()
        for name, queue in (("health", self._immediate), ("metrics", self._metrics)):
            threading.Thread(target=_serve_queue, args=(queue,), name=name, daemon=True).start()

    def add_immediate(self, job: Job) -> None:
        """Queue a request that does not use the store, such as health or a refusal, for its own thread."""
        self._immediate.put(job)

    def add_metrics(self, job: Job) -> None:
        """Queue a request for metrics for their own thread: metrics matter most while other requests wait."""
        self._metrics.put(job)

    def add(self, job: Job, lane: Lane, client: Client, *, deadline: float) -> None:
        """Run a request, let it wait for a thread, or refuse it with a 503 at once.

        A request that would wait beyond `deadline` (monotonic seconds) is refused. If WAITING_MAX requests
        wait already, the last request of the client with the most waiting requests is refused.
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
        """Refuse the requests that waited until their deadline, since all threads may be busy."""
        if any(lane.waiting for lane in self._lanes):
            with self._lock:
                late = self._remove_late(time.monotonic())
            self._refuse_all(late)

    def is_alone(self, client: Client) -> bool:
        """Return whether a client is alone: no other client has running, waiting or very recent requests."""
        with self._lock:
            return self._is_alone(client, time.monotonic())

    def _remove_late(self, now: float) -> list[Job]:
        return [job for lane in self._lanes for job in lane.remove_late(now)]

    def _refuse_all(self, late: Iterable[Job]) -> None:
        """Answer jobs that waited too long for a thread with a 503."""
        for job in late:
            self._refuse(job, "no thread became free within the time of this request; try again later")

    def _refuse(self, job: Job, detail: str) -> None:
        """Have the thread of immediate requests answer a request with a 503 and this detail."""
        job.refuse(detail)
        self.add_immediate(job)

    def _has_thread(self, lane: Lane, client: Client, now: float) -> bool:
        """Return whether a request may begin: a thread is free, and its client does not run too many."""
        # A client that runs nothing of this kind may use the threads kept for such clients.
        spare = 0 if self._running_of(lane, client) else self._spare
        return self._may_run(lane, client, now) and self._has_room(lane, spare)

    def _may_run(self, lane: Lane, client: Client, now: float) -> bool:
        """Return whether a client may run one more request of a lane, given a free thread."""
        running = lane.running_of[client]
        return not running or running < self._client_max(lane, client, now)

    def _client_max(self, lane: Lane, client: Client, now: float) -> int:
        """Return how many requests of a lane a client may run.

        A client that is not alone may run one if its requests take a lot of processor time. More at once
        would not end sooner, since the interpreter runs one thread at a time, and each step of another
        client's request would wait for all of them. Batches of documents are exempt, since they take turns.
        """
        if lane is self.write_batches or not lane.long.has_long(client, now) or self._is_alone(client, now):
            return lane.client_max
        return 1

    def _is_alone(self, client: Client, now: float) -> bool:
        """Return whether a client is the only one; the caller holds the lock."""
        busy = {other for lane in self._lanes for other in (*lane.running_of, *lane.waiting)}
        return busy <= {client} and self._presence.is_alone(client, now)

    def _has_room(self, lane: Lane, spare: int) -> bool:
        """Return whether a thread is free for a lane that may use `spare` more of each limit."""
        # Batches on spare threads do not count for their kind, so that its other requests, which are short,
        # keep their threads.
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
        """Answer the requests handed to the request threads one after the other, without end."""
        while True:
            job, lane, number = self._ready.get()
            began = time.thread_time()
            _serve_safely(job.service)
            self._finish(lane, number, time.thread_time() - began)

    def _finish(self, lane: Lane, number: int, processor_seconds: float) -> None:
        """Note the end of a job; start jobs that have a thread now, refuse jobs that waited too long."""
        now = time.monotonic()
        with self._lock:
            lane.long.note(lane.running[number][0], processor_seconds, now)
            lane.end(number, now, seconds_max=self._request_seconds)
            # Late requests are removed before others start: an answer to them would be useless.
            late = self._remove_late(now)
            while following := self._following(now):
                self._run(following[0].pop(following[1]), *following)
        self._refuse_all(late)

    def _following(self, now: float) -> tuple[Lane, Client] | None:
        """Return lane and client of the next request to begin, or None without a request or a free thread.

        The client that runs the fewest requests of its kind is next. Among equals of a lane, the client whose
        last turn is longest ago is next, and between lanes the earliest deadline decides.
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
        """Return the client whose request of a lane begins next, or None if no request may begin."""
        if not lane.waiting:
            return None
        # Computed for both cases instead of for each client, since a thousand may wait.
        has_room = {True: self._has_room(lane, 0), False: self._has_room(lane, self._spare)}
        may_begin = (
            client
            for client in lane.waiting
            if has_room[self._running_of(lane, client) > 0] and self._may_run(lane, client, now)
        )
        return min(may_begin, key=partial(self._running_of, lane), default=None)


def _serve_queue(queue: SimpleQueue[Job]) -> None:
    """Answer the requests of a queue in order, without end."""
    while True:
        _serve_safely(queue.get().service)


def _serve_safely(service: Callable[[], None]) -> None:
    """Call a function; log any exception instead of raising it."""
    try:
        service()
    except Exception:  # noqa: BLE001 (of one request; the thread serves others)
        _log.exception("a request could not be answered")
