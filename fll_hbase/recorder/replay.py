"""Replay of a spool: documents are recorded in the order of writing, and removed once acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fll_hbase.client.connection import LineageClient
from fll_hbase.client.remote.problems import DOCUMENT_FAULTS
from fll_hbase.ingest.document_batches import LocatedDocument, batch_documents
from fll_hbase.ingest.ndjson import InputLine, too_large
from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.recorder.spool import Spool, SpoolError
from fll_hbase.runtime.errors import LineageError

BATCH_DOCUMENTS = 500


@dataclass(frozen=True, slots=True)
class ReplayedDocument:
    """A document that left the queue: its result, or the error that refused it and its new `path`."""

    path: Path
    result: RecordResult | LineageError


def replay(
    spool: Spool, client: LineageClient, *, bytes_max: int, take_over: bool = False
) -> Iterator[ReplayedDocument]:
    """Record the documents that are in a spool now; yield each after its file was removed or set aside.

    A document of more than `bytes_max` bytes is refused. A document whose run id another program recorded is
    refused, too, unless `take_over` is set. Raises LineageError if a document is neither recorded nor
    refused, once the rest of its batch is settled. It and all later batches stay, since they may have
    documents of the same run. Raises SpoolError if another process sends the spool. Replay can be interrupted
    anywhere, because a document that is sent again is stored once.
    """
    with spool.sending():
        spool.remove_unfinished()
        paths = spool.documents()
        for batch in batch_documents(_read(paths, bytes_max), namespace="", documents_max=BATCH_DOCUMENTS):
            results = client.record(batch, take_over=take_over)
            yield from _settle(spool, batch, results, paths)


def _read(paths: Sequence[Path], bytes_max: int) -> Iterator[InputLine]:
    """Yield documents as lines numbered by position in `paths`; skip absent files. Raises SpoolError.

    A document of more than `bytes_max` bytes is a line with the error TooLarge.
    """
    for number, path in enumerate(paths):
        try:
            with path.open("rb") as file:
                # Room for a line end, which is not part of the document.
                raw = file.read(bytes_max + 2)
        # The recorder that wrote the file removed it and wrote a later document of the run.
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
        is_too_large = len(raw.rstrip(b"\r\n")) > bytes_max
        yield InputLine(number, b"", too_large(bytes_max)) if is_too_large else InputLine(number, raw)


def _settle(
    spool: Spool,
    batch: Sequence[LocatedDocument],
    results: Sequence[RecordResult | LineageError],
    paths: Sequence[Path],
) -> Iterator[ReplayedDocument]:
    """Remove recorded documents, set refused ones aside and yield both, then raise the first other error."""
    documents = [
        ReplayedDocument(paths[document.line.number], result)
        for document, result in zip(batch, results, strict=True)
    ]
    spool.remove(*(document.path for document in documents if isinstance(document.result, RecordResult)))
    failures: list[LineageError] = []
    for document in documents:
        if isinstance(document.result, RecordResult):
            yield document
        elif isinstance(document.result, DOCUMENT_FAULTS):
            yield replace(document, path=spool.set_aside(document.path))
        else:
            failures.append(document.result)
    if failures:
        raise failures[0]
