"""Rights on the files of a SQLite store: they are for its owner alone, unless its owner decides otherwise.

SQLite gives the log and its index the mode of the database, and as root its owner, too.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_ROOT = 0


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may open; keep a file that exists. Raises OSError.

    A file that root creates belongs to the owner of its directory, so that a service which runs as that user
    can open a store that an administrator made.
    """
    # Resolved, since SQLite would create what a link names.
    path = path.resolve()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    try:
        _give(descriptor, path.parent.stat())
    finally:
        os.close(descriptor)


def open_lock(path: Path, store: Path) -> int:
    """Return a descriptor of a lock file, which those may open who may write to the store. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        lock, wanted = os.fstat(descriptor), store.stat()
        _give(descriptor, wanted)
        mode = stat.S_IMODE(wanted.st_mode) & 0o666
        if stat.S_IMODE(lock.st_mode) != mode and os.geteuid() in (_ROOT, lock.st_uid):
            os.fchmod(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_open_to_all(path: Path) -> bool:
    """Return whether users other than the owner and its group may read or write a file. Raises OSError."""
    return bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IROTH | stat.S_IWOTH))


def _give(descriptor: int, owner: os.stat_result) -> None:
    """Give a file owner and group of `owner`, another file, if this process is root's; else do nothing."""
    if os.geteuid() == _ROOT:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
