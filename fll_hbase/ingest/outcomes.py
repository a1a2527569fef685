"""Parsed documents, and the results of recording them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.runtime.errors import FieldError

if TYPE_CHECKING:
    from fll_hbase.store.results import CommitResult
    from fll_hbase.store.write.batching import RunInput


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The runs and run events of one document, metadata of datasets that needs no run, and warnings.

    `statements` are further runs stated by the document, which become warnings if they are refused.
    `on_recorded` is called when the document was recorded, so that refused documents do not fill caches.
    """

    runs: tuple[RunInput, ...] = ()
    metadata: tuple[DatasetMetadata, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    statements: tuple[RunInput, ...] = ()
    on_recorded: Callable[[], None] | None = field(default=None, compare=False, repr=False)


class RecordOutcome(Enum):
    """Effect of an accepted document: a new run or event, a replacement of its run, or a repetition."""

    RECORDED = "recorded"
    REPLACED = "replaced"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class RecordResult:
    """The result of an accepted document: results of its durable runs in order, and its metadata.

    A refused document has a LineageError in its position instead.
    """

    runs: tuple[CommitResult, ...] = ()
    metadata: tuple[DatasetMetadata, ...] = ()
    warnings: tuple[FieldError, ...] = ()

    @property
    def outcome(self) -> RecordOutcome:
        """Return one outcome for all runs, as `combine_outcomes`; RECORDED for metadata without a run."""
        return combine_outcomes(map(run_outcome, self.runs))


def run_outcome(run: CommitResult) -> RecordOutcome:
    """Return REPEATED for a run that was already recorded, else REPLACED or RECORDED."""
    if not run.recorded:
        return RecordOutcome.REPEATED
    return RecordOutcome.REPLACED if run.replaced else RecordOutcome.RECORDED


def combine_outcomes(outcomes: Iterable[RecordOutcome]) -> RecordOutcome:
    """Return RECORDED if it is among the outcomes, else REPLACED, else REPEATED; RECORDED for none."""
    present = list(outcomes)
    if not present or RecordOutcome.RECORDED in present:
        return RecordOutcome.RECORDED
    return RecordOutcome.REPLACED if RecordOutcome.REPLACED in present else RecordOutcome.REPEATED
