"""Recent activity: the documents that clients sent, by whom, and whether they were accepted or why not.

When a request is answered, its notes go into the ring of the process. What a principal sees of the rings is
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from fll_hbase.model.access import Principal, Role
from fll_hbase.runtime import clock

from ..wire import notes
from ..wire.environ import PRINCIPAL, ROUTE
from ..wire.notes import NAME_CHARACTERS_MAX, REFUSED, TEXT_CHARACTERS_MAX, Note
from .activity_ring import ENTRY_BYTES_MAX, SLOTS, ActivityRing

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

WARNED = "warned"

_WRITES = ("POST", "PATCH")
_SHORTENED = ("program", "run", "client", "sender", "route")


_decoder = msgspec.json.Decoder(Note)


class RecentActivity:
    """The entries of all processes of a server. Threads may share it."""

    def __init__(self, ring: ActivityRing) -> None:
        self._ring = ring
        self._number = 0

    def add(self, entries: Iterable[Note], environ: WSGIEnvironment) -> None:
        """Add the entries of a request."""
        principal: Principal | None = environ.get(PRINCIPAL)
        about = {
            "time_ms": clock.now_ms(),
            "sender": principal.name[:NAME_CHARACTERS_MAX] if principal else "",
            "client": environ.get("HTTP_USER_AGENT", "")[:NAME_CHARACTERS_MAX],
            # Of a path that no route serves the path itself says what is wrong.
            "route": environ.get(ROUTE) or environ.get("PATH_INFO", "")[:NAME_CHARACTERS_MAX],
        }
        encoded = []
        for entry in entries:
            # Threads may give two entries one number, which then are in any order.
            self._number += 1
            encoded.append(_encode(msgspec.structs.replace(entry, number=self._number, **about)))
        self._ring.append(encoded)

    def read(self, principal: Principal | None, *, since_ms: int) -> list[Note]:
        """Return the entries since a time that a principal may see, newest first; None may see all.

        Its own, and those of programs whose namespace it may read, but of these no refused ones and no
        texts, which may have any name.
        """
        entries = (_decoder.decode(encoded) for encoded in self._ring.read())
        visible = _visible((entry for entry in entries if entry.time_ms >= since_ms), principal)
        return sorted(visible, key=lambda entry: (entry.time_ms, entry.number), reverse=True)


def _visible(entries: Iterable[Note], principal: Principal | None) -> Iterator[Note]:
    for entry in entries:
        if principal is None or principal.may_everywhere(Role.ADMIN) or entry.sender == principal.name:
            yield entry
        elif entry.outcome != REFUSED and principal.may(Role.READER, entry.namespace):
            yield msgspec.structs.replace(entry, texts=())


def _encode(entry: Note) -> bytes:
    """Encode an entry in at most ENTRY_BYTES_MAX bytes: texts are shortened first, then names."""
    encoded = msgspec.json.encode(entry)
    length = TEXT_CHARACTERS_MAX
    while len(encoded) > ENTRY_BYTES_MAX:
        length //= 2
        names = {name: getattr(entry, name)[:length] for name in _SHORTENED}
        texts = tuple(text[:length] for text in entry.texts)
        # A namespace decides who sees an entry: one that does not fit is shown to no other.
        namespace = entry.namespace if len(entry.namespace) <= length else ""
        encoded = msgspec.json.encode(
            msgspec.structs.replace(entry, texts=texts, namespace=namespace, **names)
        )
    return encoded


class ActivityMiddleware:
    """WSGI middleware that adds what a request recorded to the recent activity."""

    def __init__(self, app: WSGIApplication, activity: RecentActivity) -> None:
        self._app = app
        self._activity = activity

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in _WRITES:
            return self._app(environ, start_response)
        # The newest of a large batch: the ring has no room for more.
        with notes.noting(SLOTS) as noted:
            answer = self._app(environ, start_response)
        if noted:
            self._activity.add(noted, environ)
        return answer
