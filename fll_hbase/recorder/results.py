"""Results of recording one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.errors import FieldError
from fll_hbase.ingest import RecordResult


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run that is stored durably.

    `recorded` is false if exactly this was recorded before, `replaced` is true if it replaces other lineage
    of the run; `warnings` name what was ignored or could not be resolved.
    """

    run: str
    checksum: str
    recorded: bool
    replaced: bool
    warnings: tuple[FieldError, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """A run that was not recorded, with the error.

    After StoreUnavailable it may be stored nevertheless; recording it again is safe.
    """

    run: str
    error: Exception


Outcome: TypeAlias = Recorded | NotRecorded


def to_recorded(result: RecordResult) -> Recorded:
    """Convert the result of a document with one run."""
    (run,) = result.runs
    return Recorded(run.run, run.checksum, run.recorded, run.replaced, result.warnings)
