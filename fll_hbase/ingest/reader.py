"""Reading of documents: from bytes in any registered format to runs and metadata."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentFormat, DocumentHead, ReadContext
from fll_hbase.runtime.errors import ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.sources import derived_columns
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.native.cached_reader import CachedDocumentReader, OperationCache

if TYPE_CHECKING:
    from fll_hbase.sources import sql


class DocumentReader:
    """Reads documents of every format; threads may share it and its cache of parsed operations.

    `columns` returns the fields of a dataset from the catalogue of a store, or None if they are unknown. SQL
    such as `SELECT *`, which does not name fields, needs them. Readers may share a `cache`, but share parsed
    entries only if they have the same `scope`.
    """

    def __init__(
        self,
        *,
        columns: sql.FieldLookup,
        name_rules: NameRules | None = None,
        cache: OperationCache | None = None,
        scope: Hashable = None,
    ) -> None:
        self._columns = columns
        self._name_rules = name_rules or NameRules()
        self._native = CachedDocumentReader(cache, scope=scope)

    @property
    def name_rules(self) -> NameRules:
        """Return the rules by which names of OpenLineage datasets are rewritten."""
        return self._name_rules

    def read(
        self, raw: bytes, head: DocumentHead | DocumentFormat, *, namespace: str | None, now_ms: int
    ) -> ParsedDocument:
        """Return the runs and metadata of a document; `head` is the result of `detect` or a known format.

        `namespace` applies to documents without one. If it is None, they are refused. `now_ms` is the time of
        documents without one. Raises UnreadableDocument or InvalidLineage with every error,
        TooLarge, and StoreUnavailable if the catalogue is needed and does not answer.
        """
        document_format = head if isinstance(head, DocumentFormat) else head.format
        operations = None if isinstance(head, DocumentFormat) else head.operations
        context = ReadContext(self._native, self._columns, self._name_rules, namespace, now_ms, operations)
        with derived_columns.part():
            return document_format.read(raw, context)

    def try_read(
        self, raw: bytes, head: DocumentHead | DocumentFormat, *, namespace: str | None, now_ms: int
    ) -> ParsedDocument | LineageError:
        """Read as `read` does, but return the error of a refused document instead of raising it.

        Raises StoreUnavailable and ConfigurationError, which are not faults of the document.
        """
        try:
            return self.read(raw, head, namespace=namespace, now_ms=now_ms)
        # These are LineageErrors, too. If they were returned, the document would count as refused for good.
        except (StoreUnavailable, ConfigurationError):
            raise
        except LineageError as error:
            return error
