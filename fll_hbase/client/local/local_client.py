"""Client of a store in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from fll_hbase.client.connection import Connection
from fll_hbase.ingest.document_batches import LocatedDocument
from fll_hbase.ingest.ingest import find_conflicts, ingest, preview
from fll_hbase.ingest.outcomes import ParsedDocument, RecordResult
from fll_hbase.ingest.registry import DocumentReader
from fll_hbase.queries import acknowledgements
from fll_hbase.queries import query as queries
from fll_hbase.queries.acknowledgements import DocumentPreview
from fll_hbase.queries.policies import PolicyBody
from fll_hbase.queries.query import BodyT, Changeable, Query
from fll_hbase.queries.query_batch import BatchAnswer
from fll_hbase.queries.tags import TagBody
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.sources import name_rules

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class LocalClient(Connection):
    """Client of a store in this process; `close` closes the store if it is `owned`.

    `clock` returns `now` in milliseconds since 1970. It is called once for each page of an answer,
    and once for each batch of documents.
    """

    def __init__(
        self,
        store: LineageStore,
        *,
        settings: Settings | None = None,
        clock: Callable[[], int] = now_ms,
        owned: bool = False,
    ) -> None:
        """Use an open store; `settings` have the name rules for documents (default: none)."""
        self._store = store
        self._settings = settings or Settings()
        self._clock = clock
        self._owned = owned

    def record(
        self,
        documents: Sequence[LocatedDocument],
        *,
        take_over: bool = False,
        wait_seconds: float | None = None,
    ) -> list[RecordResult | LineageError]:
        """Read and record documents as `LineageClient.record` does; `wait_seconds` has no effect."""
        return ingest(self._store, self._read(documents), take_over=take_over)

    def preview(
        self, documents: Sequence[LocatedDocument], *, take_over: bool = False
    ) -> list[DocumentPreview | LineageError]:
        """Read documents, check their run ids, and return the lineage or the error of each, in order."""
        parsed = self._read(documents)
        conflicts = find_conflicts(self._store, parsed, take_over=take_over)
        return [conflict or _preview(document) for conflict, document in zip(conflicts, parsed, strict=True)]

    def _read(self, documents: Sequence[LocatedDocument]) -> list[ParsedDocument | LineageError]:
        """Return each document, or the error that refuses it."""
        now = self._clock()
        return [
            document.line.error
            or self._reader.try_read(
                document.line.raw, document.head, namespace=document.namespace or None, now_ms=now
            )
            for document in documents
        ]

    # Built on first use: an invalid FLL_NAME_RULES must not stop queries, which need no reader.
    @cached_property
    def _reader(self) -> DocumentReader:
        """Make the reader of documents. Raises ConfigurationError for invalid name rules."""
        return DocumentReader(
            columns=self._store.catalogue.field_names,
            name_rules=name_rules.parse_rules(self._settings.name_rules, self._settings.namespace_rules),
        )

    def read_answer(self, query: Query[BodyT]) -> queries.Answer[BodyT]:
        """Return the answer of the store, with the time of `clock` as `now`."""
        return query.checked_answer(self._store, now_ms=self._clock())

    def put(self, query: Changeable[BodyT], body: TagBody | PolicyBody) -> BodyT:
        """Put a tag or a policy in the store; return it as stored."""
        return query.put(self._store, msgspec.json.encode(body))[0]

    def delete(self, query: Changeable[Any]) -> None:
        """Remove a tag or a policy from the store. Raises NotFound and AmbiguousName."""
        query.remove(self._store)

    def read_batch(self, queries: Sequence[Mapping[str, str]]) -> BatchAnswer:
        """Raise ConfigurationError: only a server answers batches."""
        raise ConfigurationError("a batch of questions needs a server: give its URL; fll serve starts one")

    def close(self) -> None:
        """Close the store if it is `owned`."""
        if self._owned:
            self._store.close()


def _preview(document: ParsedDocument | LineageError) -> DocumentPreview | LineageError:
    """Return the lineage that a document would record, or the error that refuses it."""
    if isinstance(document, LineageError):
        return document
    try:
        runs = [acknowledgements.dry_run(preview(run)) for run in document.runs]
    except LineageError as error:
        return error
    return acknowledgements.document_preview(runs, document.warnings)
