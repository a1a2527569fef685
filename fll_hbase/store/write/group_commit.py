"""Group commit: runs that arrive one by one during a pass share the next pass.

A pass with its flush takes as long for four runs as for one, and concurrent passes slow each other down.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fll_hbase.runtime import deadline, metrics
from fll_hbase.runtime.errors import DeadlineExceeded, LineageError, StoreUnavailable
from fll_hbase.store.results import CommitResult
from fll_hbase.store.write.batching import RunInput

GROUP_RUNS_MAX = 4
"""Maximum number of runs per pass. If the store is stuck, this many threads wait for it; other calls fail."""

STUCK_SECONDS = 2.0
"""Maximum wait for another thread's commit before a queued run is withdrawn."""


# Requests are compared by identity, because two threads may commit equal runs.
@dataclass(slots=True, eq=False)
class _CommitRequest:
    """One run to commit; once it is `done`, also its result and the thread that committed it."""

    run: RunInput
    result: CommitResult | BaseException | None = None
    thread_id: int | None = None
    done: bool = False

    def finish(self, result: CommitResult | BaseException) -> None:
        """Note the result, or the error to raise, and this thread, and mark the request as done."""
        self.result = result
        self.thread_id = threading.get_ident()
        # Set last, because the thread of the request checks nothing else before it.
        self.done = True


class GroupCommit:
    """Commits single runs, up to GROUP_RUNS_MAX at a time. Threads may share it."""

    def __init__(self, record: Callable[[Sequence[RunInput]], list[CommitResult | LineageError]]) -> None:
        self._record = record
        self._queue: list[_CommitRequest] = []
        self._queue_lock = threading.Lock()
        self._commit_lock = threading.Lock()

    def record(self, run: RunInput) -> CommitResult:
        """Commit one run and return its result.

        Raises the error of the run or of its commit, and StoreUnavailable if the run is still queued after a
        wait of STUCK_SECONDS for other commits. Raises DeadlineExceeded at the deadline of the request, even
        if a commit has begun.
        """
        while True:
            request = _CommitRequest(run)
            try:
                return self._commit(request)
            except DeadlineExceeded:
                # The deadline may be the committing thread's: try again until this thread's own one.
                deadline.check()
                if request.thread_id in (None, threading.get_ident()):
                    raise

    def _commit(self, request: _CommitRequest) -> CommitResult:
        """Queue a request; commit a group with it, or wait until another thread does. Raises its error."""
        with self._queue_lock:
            self._queue.append(request)
        # A turn commits the head of the queue. If that does not include this request, it takes another turn.
        while not request.done:
            if self._commit_lock.acquire(timeout=self._patience(request)):
                try:
                    self._commit_next(request)
                finally:
                    self._commit_lock.release()
            # Every wait ends (decision 10), except in a commit, while the outcome is unknown.
            elif self._withdraw(request):
                raise deadline.unavailable("write queue is full; retry")
        if isinstance(request.result, CommitResult):
            return request.result
        raise request.result or AssertionError("a finished request has a result")

    def _patience(self, request: _CommitRequest) -> float:
        """Return how long to wait for another commit. Raises DeadlineExceeded and withdraws the request."""
        try:
            return deadline.seconds_left(STUCK_SECONDS)
        except DeadlineExceeded:
            self._withdraw(request)
            raise

    def _commit_next(self, request: _CommitRequest) -> None:
        """Commit up to GROUP_RUNS_MAX runs at the head of the queue, unless this request is already done."""
        if request.done:
            return
        with self._queue_lock:
            group, self._queue = self._queue[:GROUP_RUNS_MAX], self._queue[GROUP_RUNS_MAX:]
        try:
            for member, result in zip(group, self._results(group), strict=True):
                member.finish(result)
        except BaseException as error:
            # Also for KeyboardInterrupt, because the threads of the other members wait for their results.
            for member in group:
                member.finish(error)
            raise

    def _results(self, group: Sequence[_CommitRequest]) -> list[CommitResult | LineageError]:
        """Return one result each: a run's own error for only that run, StoreUnavailable for all.

        If the commit raises another error, commits each run alone.
        """
        try:
            results = self._record([request.run for request in group])
        except StoreUnavailable as error:
            # Create one exception per thread, because raising a shared one would mix their tracebacks.
            return [type(error)(str(error)) for _ in group]
        except LineageError as error:
            if len(group) == 1:
                return [error]
            # The error does not name its run. Commits are idempotent, so commit each run again alone.
            return [result for request in group for result in self._results([request])]
        if committed := sum(isinstance(result, CommitResult) for result in results):
            metrics.GROUP_RUNS.observe(committed)
        return results

    def _withdraw(self, request: _CommitRequest) -> bool:
        """Remove the request from the queue; return False if it is already being committed."""
        with self._queue_lock:
            if request in self._queue:
                self._queue.remove(request)
                return True
        return False
