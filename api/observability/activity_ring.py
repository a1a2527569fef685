"""The newest entries of a process in a file of fixed size, which the other processes of the server read.

A slot has the CRC-32 and the length of its entry, then its bytes. A reader may see a slot that is being
written: its checksum does not fit, and the slot is left out. docs/decisions/0063.
"""

from __future__ import annotations

import logging
import mmap
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

SLOTS, SLOT_BYTES = 1_000, 1_024
"""Entries of a process, and the bytes of each with its head."""

FILES_MAX = 32
"""Files of a directory; beyond it the oldest of processes that have ended are removed."""

_HEAD = struct.Struct("<IH")
ENTRY_BYTES_MAX = SLOT_BYTES - _HEAD.size
_SUFFIX = ".activity"
_log = logging.getLogger(__name__)


class ActivityRing:
    """The newest SLOTS entries, in a file of `directory`, or in memory for None. Threads may share it."""

    def __init__(self, directory: Path | None) -> None:
        self._lock = threading.Lock()
        self._next = 0
        mapped = _map_file(directory) if directory else None
        self._directory = directory if mapped else None
        self._memory = mapped or mmap.mmap(-1, SLOTS * SLOT_BYTES)

    def append(self, entries: Iterable[bytes]) -> None:
        """Write entries of at most ENTRY_BYTES_MAX bytes, each in place of the oldest one."""
        with self._lock:
            for entry in entries:
                start = self._next % SLOTS * SLOT_BYTES
                head = _HEAD.pack(zlib.crc32(entry), len(entry))
                self._memory[start : start + len(head) + len(entry)] = head + entry
                self._next += 1

    def read(self) -> Iterator[bytes]:
        """Yield the entries of every process of the directory, in no order."""
        if self._directory is None:
            yield from _entries(self._memory[:])
            return
        for path in sorted(self._directory.glob(f"*{_SUFFIX}")):
            # Another process may remove the file of one that has ended.
            with suppress(FileNotFoundError):
                yield from _entries(path.read_bytes())


def _map_file(directory: Path) -> mmap.mmap | None:
    """Return the mapped file of this process; None, which is logged, where the disk has no room."""
    try:
        _remove_ended(directory)
        with (directory / f"{os.getpid()}{_SUFFIX}").open("w+b") as file:
            # Reserved: a write to a page of a sparse file on a full disk would end the process.
            os.posix_fallocate(file.fileno(), 0, SLOTS * SLOT_BYTES)
            return mmap.mmap(file.fileno(), SLOTS * SLOT_BYTES)
    except OSError as error:
        _log.error("GET /v3/events shows single processes only, their files cannot be written: %s", error)
        return None


def _remove_ended(directory: Path) -> None:
    """Remove the oldest files of processes that have ended, until fewer than FILES_MAX are left."""
    paths = sorted(directory.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    for path in paths[: max(0, len(paths) - FILES_MAX + 1)]:
        if not Path(f"/proc/{path.stem}").exists():
            path.unlink(missing_ok=True)


def _entries(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content) - SLOT_BYTES + 1, SLOT_BYTES):
        checksum, length = _HEAD.unpack_from(content, start)
        entry = content[start + _HEAD.size : start + _HEAD.size + length]
        if length and zlib.crc32(entry) == checksum:
            yield entry
