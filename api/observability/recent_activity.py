"""Recent activity: which documents arrived, who sent them, and whether they were accepted or why not.

When a request is answered, its notes go into the ring of the process. This module decides which entries of
the rings a principal may see.

A ring is a file of fixed size that the other processes read. A slot contains the CRC-32 and the length of its
entry, then the bytes of the entry. A reader skips a slot whose checksum does not match, because it is being
written (decision 0063).
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
from typing import TYPE_CHECKING

import msgspec

from fll_hbase.model.access import Principal, Role
from fll_hbase.runtime import clock, typed_json

from ..wire import notes
from ..wire.environ import PRINCIPAL, ROUTE
from ..wire.notes import NAME_CHARACTERS_MAX, REFUSED, TEXT_CHARACTERS_MAX, Note

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SLOTS, SLOT_BYTES = 1_000, 1_024
"""Entries of a process, and the bytes of each entry with its head."""

FILES_MAX = 32
"""Maximum number of files in the directory. Beyond it, the oldest files of ended processes are removed."""

_HEAD = struct.Struct("<IH")
ENTRY_BYTES_MAX = SLOT_BYTES - _HEAD.size
_SUFFIX = ".activity"

WARNED = "warned"
_WRITES = ("POST", "PATCH")
_SHORTENED = ("program", "run", "client", "sender", "route")

_decoder = typed_json.decoder(Note)
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
        """Yield the entries of every process of the directory, or of this one without it, in any order."""
        if self._directory is None:
            yield from _entries(self._memory[:])
            return
        for path in sorted(self._directory.glob(f"*{_SUFFIX}")):
            # Another process may remove the file of an ended process.
            with suppress(FileNotFoundError):
                yield from _entries(path.read_bytes())


def _map_file(directory: Path) -> mmap.mmap | None:
    """Return the mapped file of this process; log an error and return None if the disk has no room."""
    try:
        _remove_ended(directory)
        with (directory / f"{os.getpid()}{_SUFFIX}").open("w+b") as file:
            # Reserve the space: writing to a page of a sparse file on a full disk would end the process.
            os.posix_fallocate(file.fileno(), 0, SLOTS * SLOT_BYTES)
            return mmap.mmap(file.fileno(), SLOTS * SLOT_BYTES)
    except OSError as error:
        _log.error("GET /v3/events shows single processes only, their files cannot be written: %s", error)
        return None


def _remove_ended(directory: Path) -> None:
    """Remove files of ended processes, except among the FILES_MAX - 1 newest files."""
    paths = sorted(directory.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    for path in paths[: max(0, len(paths) - FILES_MAX + 1)]:
        if not Path(f"/proc/{path.stem}").exists():
            path.unlink(missing_ok=True)


def _entries(content: bytes) -> Iterator[bytes]:
    """Yield the entries in the content of a file by slot, without empty and half-written slots."""
    for start in range(0, len(content) - SLOT_BYTES + 1, SLOT_BYTES):
        checksum, length = _HEAD.unpack_from(content, start)
        entry = content[start + _HEAD.size : start + _HEAD.size + length]
        if length and zlib.crc32(entry) == checksum:
            yield entry


class RecentActivity:
    """The entries of all processes of a server. Threads may share it."""

    def __init__(self, ring: ActivityRing) -> None:
        self._ring = ring
        self._number = 0

    def add(self, entries: Iterable[Note], environ: WSGIEnvironment) -> None:
        """Append notes of a request to the ring, with its time, sender, client and route, numbered."""
        principal: Principal | None = environ.get(PRINCIPAL)
        about = {
            "time_ms": clock.now_ms(),
            "sender": principal.name[:NAME_CHARACTERS_MAX] if principal else "",
            "sender_digest": principal.digest if principal else "",
            "client": environ.get("HTTP_USER_AGENT", "")[:NAME_CHARACTERS_MAX],
            # Without a route, the path itself shows what is wrong.
            "route": environ.get(ROUTE) or environ.get("PATH_INFO", "")[:NAME_CHARACTERS_MAX],
        }
        encoded = []
        for entry in entries:
            # Threads may give two entries the same number, and then their order is undefined.
            self._number += 1
            encoded.append(_encode(msgspec.structs.replace(entry, number=self._number, **about)))
        self._ring.append(encoded)

    def read(self, principal: Principal | None, *, since_ms: int) -> list[Note]:
        """Return the entries since `since_ms` (epoch ms) that a principal may see, newest first.

        None and an admin of every namespace see all. Others see their own entries, and entries of programs in
        namespaces that they may read. Refused entries and texts of other senders are hidden, since they may
        contain any name.
        """
        entries = (_decoder.decode(encoded) for encoded in self._ring.read())
        visible = _visible((entry for entry in entries if entry.time_ms >= since_ms), principal)
        return sorted(visible, key=lambda entry: (entry.time_ms, entry.number), reverse=True)


def _visible(entries: Iterable[Note], principal: Principal | None) -> Iterator[Note]:
    """Yield the entries that a principal may see, without hidden texts, or everything for None."""
    for entry in entries:
        if (
            principal is None
            or principal.may_everywhere(Role.ADMIN)
            or entry.sender_digest == principal.digest
        ):
            yield entry
        elif entry.outcome != REFUSED and principal.may(Role.READER, entry.namespace):
            yield msgspec.structs.replace(entry, texts=())


def _encode(entry: Note) -> bytes:
    """Encode an entry in at most ENTRY_BYTES_MAX bytes: cut texts and names, and omit a long namespace."""
    encoded = msgspec.json.encode(entry)
    length = TEXT_CHARACTERS_MAX
    while len(encoded) > ENTRY_BYTES_MAX:
        length //= 2
        names = {name: getattr(entry, name)[:length] for name in _SHORTENED}
        texts = tuple(text[:length] for text in entry.texts)
        # The namespace decides who sees an entry, so an entry whose namespace does not fit is hidden from
        # others.
        namespace = entry.namespace if len(entry.namespace) <= length else ""
        encoded = msgspec.json.encode(
            msgspec.structs.replace(entry, texts=texts, namespace=namespace, **names)
        )
    return encoded


class ActivityMiddleware:
    """WSGI middleware that adds the documents of a request to the recent activity."""

    def __init__(self, app: WSGIApplication, activity: RecentActivity) -> None:
        self._app = app
        self._activity = activity

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Call the app. After a POST or PATCH add the newest SLOTS notes of the request to the activity."""
        if environ["REQUEST_METHOD"] not in _WRITES:
            return self._app(environ, start_response)
        # Only the newest notes of a large batch fit into the ring.
        with notes.noting(SLOTS) as noted:
            answer = self._app(environ, start_response)
        if noted:
            self._activity.add(noted, environ)
        return answer
