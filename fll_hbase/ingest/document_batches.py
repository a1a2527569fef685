"""Batches of documents, which may be recorded in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.registry import DocumentHead, detect
from fll_hbase.runtime.batches import split_batches
from fll_hbase.sources.validation import ID_BYTES_MAX


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A line, its detected format and run, and the namespace it is recorded in, empty if that is unknown."""

    line: InputLine
    head: DocumentHead
    namespace: str = ""


def locate(line: InputLine, *, namespace: str) -> LocatedDocument:
    """Return a line with the format and namespace that its top-level members give; raises nothing.

    A document that names no namespace has `namespace`; empty is unknown, also instead of one that is too
    long. A line that no format identifies, or that is not JSON, has the first format, whose reader refuses
    it.
    """
    head = detect(line.raw)
    document_namespace = namespace if head.namespace is None else head.namespace
    # A namespace that is too long has no URL: the reader refuses it with the other errors of the document.
    is_valid = len(document_namespace.encode()) <= ID_BYTES_MAX
    return LocatedDocument(line, head, document_namespace if is_valid else "")


def batch_documents(
    lines: Iterable[InputLine], *, namespace: str, documents_max: int
) -> Iterator[list[LocatedDocument]]:
    """Yield batches whose documents can be recorded in any order, of at most `documents_max` documents.

    A batch has no two documents of one run, except events. Documents that name no namespace get `namespace`,
    which may be empty.
    """
    # All documents of a batch are read before any is recorded. A format that reads the catalogue needs what
    # earlier documents put into it, and later ones may need what it puts: it is a batch by itself.
    return split_batches(
        (locate(line, namespace=namespace) for line in lines),
        items_max=documents_max,
        size_bytes=lambda document: len(document.line.raw),
        key=_separate_run,
        is_alone=lambda document: document.head.format.reads_catalogue,
    )


def _separate_run(document: LocatedDocument) -> str:
    """Return the run id that a batch may contain only once; "" for documents that it may repeat."""
    # Of two documents of a run the later one is valid (docs/reference/row-keys.md, "r: run"), so they must
    # stay in order. Events are merged in the order of their own times, whatever the order of arrival.
    return document.head.run if document.head.format.route else ""
