"""Fair write lock across threads and processes: flock(2) with a timeout.

Files of a SQLite store are private unless the owner decides otherwise. SQLite gives the log and its index the
mode of the database and, as root, also its owner; the lock file gets both here.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENT_THREADS_MAX = 4
"""Maximum number of threads that wait for their whole timeout; others give up early if the lock is stuck."""

STUCK_SECONDS = 2.0

_ROOT = 0
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may open; keep an existing file. Raises OSError.

    A file created by root belongs to the owner of its directory, so that a service running as that user can
    open a store created by an administrator.
    """
    # Resolve the path, because SQLite would create the target of a link.
    path = path.resolve()
    # Use one descriptor for both steps: the owner of a folder above could replace the directory in between.
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = os.open(path.name, _NEW, 0o600, dir_fd=directory)
        try:
            _give(descriptor, os.fstat(directory))
        finally:
            os.close(descriptor)
    except FileExistsError:
        pass
    finally:
        os.close(directory)


def open_lock(path: Path, store: Path) -> int:
    """Open or create the lock file `path` of a store, and return its descriptor. Raises OSError.

    Its owner and root give it the read and write permissions of the store's file. As root, give away only a
    lock that was just created, and follow no link: the owner of the folder could substitute another file of
    root.
    """
    wanted = store.stat()
    is_new = True
    try:
        descriptor = os.open(path, _NEW, 0o600)
    except FileExistsError:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        is_new = False
    try:
        if is_new:
            _give(descriptor, wanted)
        lock, mode = os.fstat(descriptor), stat.S_IMODE(wanted.st_mode) & 0o666
        is_same_owner = lock.st_uid == wanted.st_uid and os.geteuid() in (_ROOT, lock.st_uid)
        if is_same_owner and stat.S_IMODE(lock.st_mode) != mode:
            os.fchmod(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _give(descriptor: int, owner: os.stat_result) -> None:
    """Give a file the owner and group in `owner` if this process runs as root, else do nothing."""
    if os.geteuid() == _ROOT:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


class WriteLock:
    """A lock with a timeout. With a file, it excludes all processes that use the same file.

    If the lock has not changed hands for STUCK_SECONDS, because its holder is stopped, only
    PATIENT_THREADS_MAX threads keep waiting. The others are needed for readers.
    """

    def __init__(self, store: str | None) -> None:
        """Lock a file next to the store at a path, or for None only the threads of this process."""
        self._store = store
        self._thread_lock = threading.Lock()
        self._waiting_lock = threading.Lock()
        self._waiting = 0
        self._last_progress = 0.0
        self._file: _LockFile | None = None

    @contextmanager
    def acquired(self, timeout_seconds: float) -> Iterator[None]:
        """Hold the lock inside the block. Raises TimeoutError after the timeout, or if stuck, and OSError."""
        self.acquire(timeout_seconds)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout_seconds: float) -> None:
        """Acquire the lock. Raises TimeoutError after `timeout_seconds`, sooner if stuck, and OSError."""
        deadline = time.monotonic() + timeout_seconds
        # The common case needs no wait.
        if not self.exclude_threads():
            self._wait_for_threads(deadline)
        try:
            if self._store is not None and not self._open_file(self._store).lock(deadline - time.monotonic()):
                raise TimeoutError(f"other processes held the write lock for {timeout_seconds:.3g} s")
            self._last_progress = time.monotonic()
        except BaseException:
            self._release_thread()
            raise

    def release(self) -> None:
        """Release the lock among processes and among threads; the caller must have acquired it."""
        try:
            if self._file is not None:
                self._file.unlock()
        finally:
            self._release_thread()

    def exclude_threads(self) -> bool:
        """Prevent writes of this process until `admit_threads`; return False if a thread writes or waits."""
        return not self._waiting and self._thread_lock.acquire(blocking=False)

    def admit_threads(self) -> None:
        """Let threads of this process write again, after `exclude_threads` returned True."""
        self._thread_lock.release()

    def _release_thread(self) -> None:
        """Release the lock among threads, and note that it made progress."""
        self._last_progress = time.monotonic()
        self._thread_lock.release()

    def _wait_for_threads(self, deadline: float) -> None:
        """Acquire the lock among threads. Raises TimeoutError, early if too many wait without progress."""
        with self._waiting_lock:
            patient = self._waiting < PATIENT_THREADS_MAX
            if self._waiting == 0:
                self._last_progress = time.monotonic()
            self._waiting += 1
        try:
            while not self._thread_lock.acquire(timeout=self._seconds_left(deadline, patient=patient)):
                if not self._seconds_left(deadline, patient=patient):
                    raise TimeoutError("too many threads are waiting for the write lock")
        finally:
            with self._waiting_lock:
                self._waiting -= 1

    def _seconds_left(self, deadline: float, *, patient: bool) -> float:
        """Return the seconds left to wait, or 0; unless `patient`, until STUCK_SECONDS after progress."""
        until = deadline if patient else min(deadline, self._last_progress + STUCK_SECONDS)
        return max(until - time.monotonic(), 0.0)

    def close(self) -> None:
        """Close the lock file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open_file(self, store: str) -> _LockFile:
        """Return the lock file opened by this process; an inherited file would share the parent's lock."""
        if self._file is None or self._file.pid != os.getpid():
            self._file = _LockFile(store)
        return self._file


class _LockFile:
    """flock(2) with a timeout: one background thread waits for the lock, as long as that takes.

    The thread releases a lock that it gets after the timeout, so that a timeout leaves nothing behind.
    """

    def __init__(self, store: str) -> None:
        self.pid = os.getpid()
        self._descriptor = open_lock(Path(f"{store}.lock"), Path(store))
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._wanted = self._locked = self._waiting = self._closed = False

    def lock(self, seconds: float) -> bool:
        """Return whether the lock was acquired in time. Only one thread may call this at a time."""
        with self._lock:
            # The common case needs no thread. A call during the thread's wait would share the thread's lock.
            if not self._waiting and self._lock_at_once():
                return True
            self._wanted = True
            if not self._waiting:
                threading.Thread(target=self._wait, name="lock-file", daemon=True).start()
                self._waiting = True
            try:
                return self._changed.wait_for(lambda: self._locked, max(seconds, 0))
            except BaseException:
                # Interrupted, perhaps right after the thread got the lock, which the caller would never
                # release.
                if self._locked:
                    self.unlock()
                raise
            finally:
                self._wanted = self._locked = False

    def unlock(self) -> None:
        """Release the lock of the file."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file. If a thread waits for the lock, that thread closes it."""
        with self._lock:
            self._closed = True
            # A waiting thread needs the descriptor, and closes it.
            if not self._waiting:
                os.close(self._descriptor)

    def _lock_at_once(self) -> bool:
        """Acquire the lock if it is free, without waiting; return whether it was."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self) -> None:
        """Wait for the lock in a thread; wake `lock`, or unlock at once if it has given up meanwhile."""
        # flock itself has no timeout.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._lock:
            self._waiting = False
            self._locked = self._wanted
            self._changed.notify()
            if not self._wanted:
                self.unlock()
            if self._closed:
                os.close(self._descriptor)
