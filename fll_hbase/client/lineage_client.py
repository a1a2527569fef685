"""The client of a lineage store: queries and their answers, and the interface that both clients implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from fll_hbase.queries import query as queries
from fll_hbase.queries.query import BodyT, Query
from fll_hbase.queries.query_batch import BatchAnswer
from fll_hbase.runtime.damage import DAMAGED
from fll_hbase.runtime.errors import LineageError

if TYPE_CHECKING:
    from fll_hbase.ingest.document_batches import LocatedDocument
    from fll_hbase.ingest.outcomes import RecordResult
    from fll_hbase.queries.acknowledgements import DocumentPreview

LIMIT_REACHED = "a greater limit shows more"

_NO_SETTINGS = {
    "hidden": "parts are hidden: you lack the role `reader` on their namespaces",
    DAMAGED: "damaged rows are left out: see the log of the server, or run `fll store check` for all",
}
"""Advice about what cuts an answer although no setting bounds it."""


def truncation_hint(bounds: Iterable[str]) -> str:
    """Return advice about bounds that truncated an answer, such as `pairs_max=250000`, or "" for none."""
    # An answer must not look complete when it is not (decision 0008).
    bounds = list(bounds)
    names = ", ".join(name for name in bounds if name not in _NO_SETTINGS)
    advice = [f"truncated by {names}: use a shorter window or raise the setting"] if names else []
    return "; ".join([*advice, *(_NO_SETTINGS[name] for name in bounds if name in _NO_SETTINGS)])


class LineageClient(ABC):
    """Records and queries lineage, in a store of this process or through a server.

    Every method raises LineageError. Both implementations return equal answers and raise equal errors.
    """

    @abstractmethod
    def record(
        self,
        documents: Sequence[LocatedDocument],
        *,
        take_over: bool = False,
        wait_seconds: float | None = None,
    ) -> list[RecordResult | LineageError]:
        """Record a batch of documents; return for each, in order, its result or the error that refused it.

        A document whose run id another program recorded is refused with RunIdConflict unless `take_over`.
        `wait_seconds` bounds the whole of each attempt to reach a server; a store has its own timeouts.

        Raises LineageError if it is unknown which documents were recorded. Sending all of them again is safe.
        """

    @abstractmethod
    def preview(
        self, documents: Sequence[LocatedDocument], *, take_over: bool = False
    ) -> list[DocumentPreview | LineageError]:
        """Return for each document, in order, the lineage that `record` would store, or its error.

        Nothing is stored, so documents do not see the columns that earlier documents would add to the
        catalogue. An event is treated as the only event of its run. Raises LineageError.
        """

    @abstractmethod
    def read_answer(self, query: Query[BodyT]) -> queries.Answer[BodyT]:
        """Return the answer of the store or server to a query whose parameters are valid."""

    @abstractmethod
    def read_batch(self, queries: Sequence[Mapping[str, str]]) -> BatchAnswer:
        """Return the answers to queries in their order; a query has a `path` and may have an `id`.

        Raises ConfigurationError for a store opened in this process: only a server has routes.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the connections, and the store if this client opened it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
