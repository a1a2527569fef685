"""A file that another writer has locked."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stored(lock: Path) -> Iterator[None]:
    """The lock file as another writer has it: locks are per opening of the file, not per process."""
    with lock.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
