"""Whose turn is it to write: one writer at a time, over threads and processes, in order of arrival."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

PATIENT_MAX = 4
"""So many threads wait as long as they may; more of them give up early where nothing moves."""

STUCK_SECONDS = 2.0


class Turn:
    """A lock that waits for a bounded time; a file makes it one for all processes that name it.

    Where the turn has not moved for STUCK_SECONDS, because a process that has it stands still, only a few
    threads go on waiting: the others are needed for readers.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._counted = threading.Lock()
        self._waiting = 0
        self._moved = 0.0
        self._file: _LockFile | None = None

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the lock. Raises TimeoutError when it was not to be had within `seconds`, or sooner."""
        deadline = time.monotonic() + seconds
        self._wait_for_threads(deadline)
        try:
            if self._path is None:
                yield
                return
            file = self._opened(self._path)
            if not file.lock(deadline - time.monotonic()):
                self._file = None
                raise TimeoutError(f"other processes wrote for {seconds:g} s")
            self._moved = time.monotonic()
            try:
                yield
            finally:
                file.unlock()
        finally:
            self._moved = time.monotonic()
            self._threads.release()

    def _wait_for_threads(self, deadline: float) -> None:
        with self._counted:
            patient = self._waiting < PATIENT_MAX
            if self._waiting == 0:
                self._moved = time.monotonic()
            self._waiting += 1
        try:
            while not self._threads.acquire(timeout=self._patience(deadline, patient=patient)):
                if not self._patience(deadline, patient=patient):
                    raise TimeoutError("other threads wait for their turn to write already")
        finally:
            with self._counted:
                self._waiting -= 1

    def _patience(self, deadline: float, *, patient: bool) -> float:
        """Seconds left to wait."""
        until = deadline if patient else min(deadline, self._moved + STUCK_SECONDS)
        return max(until - time.monotonic(), 0.0)

    def close(self) -> None:
        """Give back the lock file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, path: str) -> _LockFile:
        """This process's lock file: one inherited by a fork would be shared with the parent."""
        if self._file is None or self._file.pid != os.getpid():
            self._file = _LockFile(path)
        return self._file


class _LockFile:
    """flock(2) with a time limit: the wait happens in a thread that can be left behind."""

    def __init__(self, path: str) -> None:
        self.pid = os.getpid()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._waits: SimpleQueue[threading.Event | None] = SimpleQueue()
        self._waiter: threading.Thread | None = None

    def lock(self, seconds: float) -> bool:
        """Whether the lock was had in time; if not, this file must not be used again."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if self._waiter is None:
                self._waiter = threading.Thread(target=self._wait, name="lock-file", daemon=True)
                self._waiter.start()
        had = threading.Event()
        self._waits.put(had)
        if had.wait(max(seconds, 0)):
            return True
        self._waits.put(None)
        return False

    def unlock(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._waiter is None:
            os.close(self._descriptor)
        else:
            self._waits.put(None)

    def _wait(self) -> None:
        """Closing the descriptor gives up a lock that came too late."""
        while (had := self._waits.get()) is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            had.set()
        os.close(self._descriptor)
