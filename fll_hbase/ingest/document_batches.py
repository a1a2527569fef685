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
        key=_separate_run,
        is_alone=lambda document: document.head.format.reads_catalogue,
    )


def _separate_run(document: LocatedDocument) -> str:
    """Return the run id that a batch may contain only once; "" for documents that it may repeat."""
    # The later of two documents of a run wins (docs/reference/row-keys.md, "r: run"), so they must stay in
    # order. Events are merged by their own times, in any order of arrival.
    return document.head.run if document.head.format.route else ""
