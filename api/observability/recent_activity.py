"""Recent activity: the documents that clients sent, by whom, and whether they were accepted or why not.

Recording notes each document while a request is answered; when it is, its entries go into the ring of the
process. What a principal sees of the rings is decided here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

import msgspec

from fll_hbase.ingest import ParsedDocument, RecordResult, ingest
from fll_hbase.model.access import Principal, Role
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime import clock
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore

from ..wire.environ import PRINCIPAL, ROUTE
from .activity_ring import ENTRY_BYTES_MAX, SLOTS, ActivityRing

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

REFUSED, WARNED = "refused", "warned"
TEXTS_MAX, TEXT_CHARACTERS_MAX, NAME_CHARACTERS_MAX = 3, 300, 200
"""Warnings of an entry, and characters of each text and name; `warnings` counts all of them."""

_WRITES = ("POST", "PATCH")
_SHORTENED = ("program", "run", "client", "sender", "route")


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One document: `outcome` is that of RecordOutcome, or refused; `warnings` counts what was left out.

    `texts` are the first warnings, or why the document was refused.
    """

    time_ms: int = 0
    number: int = 0
    sender: str = ""
    client: str = ""
    route: str = ""
    outcome: str = ""
    namespace: str = ""
    program: str = ""
    run: str = ""
    warnings: int = 0
    texts: tuple[str, ...] = ()


_noted: ContextVar[deque[Entry] | None] = ContextVar("noted", default=None)
_decoder = msgspec.json.Decoder(Entry)


def ingest_documents(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RecordResult | LineageError]:
    """Record documents as `ingest` does, and note those that are accepted."""
    results = ingest(store, documents, take_over=take_over)
    noted = _noted.get()
    if noted is not None:
        for document, result in zip(documents, results, strict=True):
            if isinstance(document, ParsedDocument) and isinstance(result, RecordResult):
                noted.append(_accepted(document, result))
    return results


def note_refused(errors: Iterable[LineageError]) -> None:
    """Note the documents of this request that are refused."""
    noted = _noted.get()
    if noted is not None:
        noted.extend(Entry(outcome=REFUSED, texts=(str(error)[:TEXT_CHARACTERS_MAX],)) for error in errors)


def _accepted(document: ParsedDocument, result: RecordResult) -> Entry:
    namespace = program = run = ""
    if document.runs:
        first = document.runs[0]
        run = first.run.run if isinstance(first, RecordedRun) else first.run
        owner = first.run if isinstance(first, RecordedRun) else first
        namespace, program = owner.namespace, owner.program
    elif document.metadata:
        dataset = document.metadata[0].dataset
        namespace, program = dataset.namespace, dataset.name
    warnings = result.warnings
    return Entry(
        outcome=result.outcome.value,
        namespace=namespace,
        program=program[:NAME_CHARACTERS_MAX],
        run=run[:NAME_CHARACTERS_MAX],
        warnings=sum(warning.count for warning in warnings),
        texts=tuple(str(warning)[:TEXT_CHARACTERS_MAX] for warning in warnings[:TEXTS_MAX]),
    )


class RecentActivity:
    """The entries of all processes of a server. Threads may share it."""

    def __init__(self, ring: ActivityRing) -> None:
        self._ring = ring
        self._number = 0

    def add(self, entries: Iterable[Entry], environ: WSGIEnvironment) -> None:
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

    def read(self, principal: Principal | None, *, since_ms: int) -> list[Entry]:
        """Return the entries since a time that a principal may see, newest first; None may see all.

        Its own, and those of programs whose namespace it may read, but of these no refused ones and no
        texts, which may have any name.
        """
        entries = (_decoder.decode(encoded) for encoded in self._ring.read())
        visible = _visible((entry for entry in entries if entry.time_ms >= since_ms), principal)
        return sorted(visible, key=lambda entry: (entry.time_ms, entry.number), reverse=True)


def _visible(entries: Iterable[Entry], principal: Principal | None) -> Iterator[Entry]:
    for entry in entries:
        if principal is None or principal.may_everywhere(Role.ADMIN) or entry.sender == principal.name:
            yield entry
        elif entry.outcome != REFUSED and principal.may(Role.READER, entry.namespace):
            yield msgspec.structs.replace(entry, texts=())


def _encode(entry: Entry) -> bytes:
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
        noted: deque[Entry] = deque(maxlen=SLOTS)
        token = _noted.set(noted)
        try:
            answer = self._app(environ, start_response)
        finally:
            _noted.reset(token)
        if noted:
            self._activity.add(noted, environ)
        return answer
