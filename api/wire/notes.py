"""Notes of what a request recorded or refused, for layers around the routes such as recent activity."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from fll_hbase.runtime.errors import LineageError

REFUSED = "refused"
TEXT_CHARACTERS_MAX, NAME_CHARACTERS_MAX = 300, 200
"""Characters of each text and name of a note."""


class Note(msgspec.Struct, frozen=True, array_like=True):
    """One document: `outcome` is that of RecordOutcome, or refused; `warnings` counts what was left out.

    `texts` are the first warnings, or why the document was refused. A route leaves the first five members
    out; they are those of the whole request.
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


_notes: ContextVar[deque[Note] | None] = ContextVar("notes", default=None)


@contextmanager
def noting(notes_max: int) -> Iterator[deque[Note]]:
    """Collect the notes of a request, at most the newest `notes_max`."""
    notes: deque[Note] = deque(maxlen=notes_max)
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def add(notes: Iterable[Note]) -> None:
    """Add notes to this request, unless nothing collects them."""
    collected = _notes.get()
    if collected is not None:
        collected.extend(notes)


def refuse(errors: Iterable[LineageError]) -> None:
    """Note the documents of this request that are refused."""
    add(Note(outcome=REFUSED, texts=(str(error)[:TEXT_CHARACTERS_MAX],)) for error in errors)
