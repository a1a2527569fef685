"""Notes about documents that a request recorded or refused, for layers around the routes.

Routes record documents through this module, so that each one is noted, for example for recent activity.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import ParsedDocument, RecordResult
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore

REFUSED = "refused"
TEXT_CHARACTERS_MAX, NAME_CHARACTERS_MAX = 300, 200
"""Maximum number of characters of each text, and of each name, of a note."""

TEXTS_MAX = 3
"""Maximum number of warnings whose texts a note has. Its `warnings` counts all of them."""


class Note(msgspec.Struct, frozen=True, array_like=True):
    """A document of a request. `outcome` is a value of RecordOutcome or `refused`.

    `warnings` is the number of parts that were left out.
    `texts` are the first warnings, or the reason why the document was refused. Routes leave the first six
    members empty, since they describe the whole request.
    """

    time_ms: int = 0
    number: int = 0
    sender: str = ""
    sender_digest: str = ""
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
    """Return a context that collects, and yields, the notes added inside it: the newest `notes_max`."""
    notes: deque[Note] = deque(maxlen=notes_max)
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def add(notes: Iterable[Note]) -> None:
    """Add notes to the current request; do nothing outside of `noting`."""
    collected = _notes.get()
    if collected is not None:
        collected.extend(notes)


def refuse(errors: Iterable[LineageError]) -> None:
    """Note each error as a refused document of this request, with the beginning of its text."""
    add(Note(outcome=REFUSED, texts=(str(error)[:TEXT_CHARACTERS_MAX],)) for error in errors)


def ingest_documents(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RecordResult | LineageError]:
    """Record documents and note the accepted ones; return one result or error each, in order (see `ingest`).

    Raises StoreUnavailable, ConfigurationError and CorruptRow; any of the documents may then be stored.
    """
    results = ingest(store, documents, take_over=take_over)
    add(
        _accepted(document, result)
        for document, result in zip(documents, results, strict=True)
        if isinstance(document, ParsedDocument) and isinstance(result, RecordResult)
    )
    return results


def _accepted(document: ParsedDocument, result: RecordResult) -> Note:
    """Return the activity note of a recorded document: its first run or dataset, and its warnings."""
    namespace = program = run = ""
    if document.runs:
        first = document.runs[0]
        head = first.run if isinstance(first, RecordedRun) else first
        namespace, program, run = head.namespace, head.program, head.run
    elif document.metadata:
        dataset = document.metadata[0].dataset
        namespace, program = dataset.namespace, dataset.name
    warnings = result.warnings
    return Note(
        outcome=result.outcome.value,
        namespace=namespace,
        program=program[:NAME_CHARACTERS_MAX],
        run=run[:NAME_CHARACTERS_MAX],
        warnings=sum(warning.count for warning in warnings),
        texts=tuple(str(warning)[:TEXT_CHARACTERS_MAX] for warning in warnings[:TEXTS_MAX]),
    )
