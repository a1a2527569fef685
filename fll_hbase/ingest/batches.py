"""Batches of documents: bounded in number and size, in the order given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.registry import DocumentHead, detect
from fll_hbase.sources.validation import ID_BYTES_MAX

T = TypeVar("T")

BATCH_BYTES_MAX = 2**23


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A line, what detection found of it, and the namespace it is recorded in; empty where none is known."""

    line: InputLine
    head: DocumentHead
    namespace: str = ""


def locate(line: InputLine, *, namespace: str) -> LocatedDocument:
    """Detect the format of a line; `namespace` is that of documents that name none, and may be empty."""
    head = detect(line.raw)
    document_namespace = namespace if head.namespace is None else head.namespace
    is_valid = len(document_namespace.encode()) <= ID_BYTES_MAX
    return LocatedDocument(line, head, document_namespace if is_valid else "")


def batch_documents(
    lines: Iterable[InputLine], *, namespace: str, documents_max: int
) -> Iterator[list[LocatedDocument]]:
    """Batches whose documents can be recorded in any order: no two of one run, events of runs aside.

    A document that is read with the catalogue of those before it is a batch by itself.
    """
    return split_batches(
        (locate(line, namespace=namespace) for line in lines),
        items_max=documents_max,
        size_bytes=lambda document: len(document.line.raw),
        key=_separate_run,
        is_alone=lambda document: document.head.format.reads_catalogue,
    )


def _separate_run(document: LocatedDocument) -> str:
    """The run that a batch may have once; empty for events, of which several of one run are merged."""
    return document.head.run if document.head.format.route else ""


def split_batches(
    items: Iterable[T],
    *,
    items_max: int,
    size_bytes: Callable[[T], int],
    key: Callable[[T], str] = lambda _: "",
    is_alone: Callable[[T], bool] = lambda _: False,
) -> Iterator[list[T]]:
    """Split items into batches of at most `items_max` and BATCH_BYTES_MAX; an item that is larger is alone.

    Items with the same key, unless it is empty, are in different batches.
    """
    batch: list[T] = []
    keys: set[str] = set()
    bytes_sum = 0
    for item in items:
        full = len(batch) == items_max or bytes_sum + size_bytes(item) > BATCH_BYTES_MAX
        if batch and (full or key(item) in keys or is_alone(item) or is_alone(batch[-1])):
            yield batch
            batch, keys, bytes_sum = [], set(), 0
        batch.append(item)
        keys.update({key(item)} - {""})
        bytes_sum += size_bytes(item)
    if batch:
        yield batch
