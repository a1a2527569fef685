"""Batches of documents, which may be recorded in any order, and the bound on their errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.registry import DocumentHead, detect
from fll_hbase.runtime.batches import split_batches
from fll_hbase.runtime.errors import BatchStopped, InputError, LineageError
from fll_hbase.sources.validation import ID_BYTES_MAX

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A line, its detected format and run, and the namespace to record it in; "" if unknown."""

    line: InputLine
    head: DocumentHead
    namespace: str = ""


def locate(line: InputLine, *, namespace: str) -> LocatedDocument:
    """Return a line with the format and namespace that its top-level members give; raises nothing.

    A document that names no namespace gets `namespace`. The result has an empty namespace if it is unknown or
    too long. A line that is not JSON, or that no format identifies, gets the first format, whose reader
    refuses it.
    """
    head = detect(line.raw)
    document_namespace = namespace if head.namespace is None else head.namespace
    # A URL cannot hold such a namespace. The reader refuses it with the other errors of the document.
    is_valid = len(document_namespace.encode()) <= ID_BYTES_MAX
    return LocatedDocument(line, head, document_namespace if is_valid else "")


def batch_documents(
    lines: Iterable[InputLine], *, namespace: str, documents_max: int
) -> Iterator[list[LocatedDocument]]:
    """Yield batches whose documents can be recorded in any order, of at most `documents_max` documents.

    A batch has at most BATCH_BYTES_MAX bytes, unless it is one larger document. It has no two documents of
    one run, except events. A document of a format that reads the catalogue is alone. Documents that name no
    namespace get `namespace`, which may be empty.
    """
    # All documents of a batch are read before any is recorded. A format that reads the catalogue depends on
    # earlier documents and affects later ones, so its documents are batches of their own.
    return split_batches(
        (locate(line, namespace=namespace) for line in lines),
        items_max=documents_max,
        size_bytes=lambda document: len(document.line.raw),
        # The later of two documents of a run wins (docs/reference/row-keys.md, "r: run"), so they must stay
        # in order. Events are merged by their own times, in any order of arrival.
        key=lambda document: document.head.run if document.head.format.route else "",
        is_alone=lambda document: document.head.format.reads_catalogue,
    )


class ErrorBudget:
    """Counts the errors of the documents of one request, and stops when there are too many.

    Without this bound, a kilobyte of gzip with half a million lines of nonsense would take a minute and
    return 100 MB.
    """

    def __init__(self, errors_max: int) -> None:
        self._errors_max = errors_max
        self._left = errors_max

    def take(self, documents: Iterable[T | LineageError]) -> Iterator[T | LineageError]:
        """Yield documents until all calls have counted `errors_max` errors, maybe many in one document."""
        if self._left <= 0:
            return
        for document in documents:
            self._count(document)
            yield document
            if self._left <= 0:
                return

    def count_new(
        self, documents: Iterable[object | LineageError], results: Iterable[object | LineageError]
    ) -> None:
        """Count the results that are errors, except of documents that are errors: `take` counted those."""
        for document, result in zip(documents, results, strict=True):
            if not isinstance(document, LineageError):
                self._count(result)

    def stopped(self, position: str) -> BatchStopped:
        """Return the error for everything from a position such as `line 7` on, which was not read."""
        return BatchStopped(
            f"{self._errors_max} errors (FLL_BATCH_ERRORS_MAX): {position} and all after it were not read;"
            " correct the errors, and send the rest again"
        )

    def _count(self, result: object | LineageError) -> None:
        """Subtract the errors of a result from the budget; any other result is free."""
        # A document may list a thousand errors itself; an error of the store counts once.
        if isinstance(result, LineageError):
            self._left -= result.count if isinstance(result, InputError) else 1
