"""The client of a lineage store: queries and their answers, and the interface that both clients implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from fll_hbase.errors import LineageError
from fll_hbase.ingest import RecordResult
from fll_hbase.ingest.batches import LocatedDocument
from fll_hbase.model.datasets import Dataset, DatasetField

LIMIT_REACHED = "a greater --limit shows more"


@dataclass(frozen=True, slots=True)
class WindowText:
    """A time window as the user wrote it, such as `now-7d` and `now`; start included, end excluded."""

    start: str
    end: str

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"


@dataclass(frozen=True, slots=True)
class LineageQuery:
    """Dataset lineage up to `level` hops; `direction` is both, backward or forward."""

    dataset: Dataset
    window: WindowText
    level: int
    direction: str
    indirect: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class FieldQuery:
    """Operations of one field, one hop; `direction` is backward or forward, `view` simple or detailed."""

    field: DatasetField
    window: WindowText
    direction: str
    view: str
    indirect: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON body of the REST contract; `incomplete` is why it is truncated, empty if it is complete."""

    body: Any
    incomplete: str = ""


def truncation_hint(bounds: Iterable[str]) -> str:
    """Return advice about bounds such as `pairs_max=250000` that truncated an answer; empty without any."""
    # An answer must not look complete when it is not (docs/decisions/0008-bounded-answers.md).
    names = ", ".join(bounds)
    return f"bounded by {names}; ask a shorter window, or raise that setting" if names else ""


class LineageClient(ABC):
    """Records and queries lineage, in a store of this process or through a server.

    Every method raises LineageError; both implementations return equal answers and raise equal errors.
    """

    @abstractmethod
    def record(
        self, documents: Sequence[LocatedDocument], *, wait_seconds: float | None = None
    ) -> list[RecordResult | LineageError]:
        """Record a batch of documents; return for each, in order, its result or why it was refused.

        `wait_seconds` bounds each attempt to reach a server, in all of its steps; a store has timeouts of its
        own. Raises LineageError if it is unknown what was recorded; sending all of them again is safe.
        """

    @abstractmethod
    def lineage(self, query: LineageQuery) -> Answer:
        """Return dataset lineage: for each pair of datasets an entry with the pairs of their fields."""

    @abstractmethod
    def field(self, query: FieldQuery) -> Answer:
        """Return the operations that produced a field (backward) or consumed it (forward)."""

    @abstractmethod
    def runs(self, dataset: Dataset, window: WindowText, *, limit: int) -> Answer:
        """Return the runs that read or wrote a dataset, newest first, at most `limit`."""

    @abstractmethod
    def export(self, dataset: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        """Yield the runs that read or wrote a dataset as OpenLineage events, newest first."""

    @abstractmethod
    def find(self, text: str, *, limit: int) -> Answer:
        """Return datasets and fields whose names contain `text`, in any case, at most `limit`."""

    @abstractmethod
    def close(self) -> None:
        """Release the connections, and the store if this client opened it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
