"""Compiled classes of the listener, kept so that later applications of the same user need not compile them.

The classes are in `fll-capture` of the user's cache directory. Whoever can write there decides what the JVM
of a job executes. So a directory or file is not used if another user owns it or may write to it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

JARS_MAX = 8
"""Jars to keep. Each has 60 kB, and belongs to one build of Spark and one Java."""

_DATE = (1980, 1, 1, 0, 0, 0)
_log = logging.getLogger("fll_hbase.capture")


def jar_path(parts: Iterable[str]) -> Path | None:
    """Return the path of the jar for these parts: all that its classes depend on, in this order.

    None without home, or if XDG_CACHE_HOME is relative.
    """
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return cache / "fll-capture" / f"listener-{digest}.jar" if cache.is_absolute() else None


def is_usable(jar: Path) -> bool:
    """Return whether a jar exists undamaged, and no other user may write to it or its directory."""
    try:
        if not (_is_own(jar.parent) and _is_own(jar)):
            return False
        with zipfile.ZipFile(jar) as file:
            return file.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def write(jar: Path, classes: Mapping[str, bytes]) -> None:
    """Write the classes by name as a jar, atomically for other processes; log a failure at DEBUG.

    Removes all but the newest JARS_MAX jars. Does nothing in a directory that `_is_own` rejects.
    """
    temporary = jar.with_name(f"{jar.name}.{os.urandom(4).hex()}")
    try:
        jar.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(jar.parent):
            return
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                _write_jar(file, classes)
            temporary.replace(jar)
        finally:
            temporary.unlink(missing_ok=True)
        _remove_oldest(jar.parent)
    except OSError as error:
        _log.debug("the classes of the listener are not cached: %s", error)


def _write_jar(file: IO[bytes], classes: Mapping[str, bytes]) -> None:
    """Write classes, by name with dots, as entries in order of their names and with a constant date."""
    with zipfile.ZipFile(file, "w") as entries:
        for name, content in sorted(classes.items()):
            entries.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _DATE), content)


def _is_own(path: Path) -> bool:
    """Return whether a path belongs to this user only, and is not a link. Raises OSError."""
    status = path.lstat()
    is_writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not stat.S_ISLNK(status.st_mode) and not is_writable


def _remove_oldest(directory: Path) -> None:
    """Remove all jars of a directory but the JARS_MAX changed last. Raises OSError."""
    jars = sorted(directory.glob("listener-*.jar"), key=lambda path: path.stat().st_mtime_ns)
    for jar in jars[:-JARS_MAX]:
        with suppress(FileNotFoundError):
            jar.unlink()
