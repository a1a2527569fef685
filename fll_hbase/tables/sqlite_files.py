"""Permissions of the files of a SQLite store, which are private unless the owner decides otherwise.

SQLite gives the log and its index the mode of the database and, as root, also its owner.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
    try:
        descriptor = os.open(path, _NEW, 0o600)
        is_new = True
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
