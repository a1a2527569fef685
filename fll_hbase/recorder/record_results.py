"""Results of recording one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.runtime.errors import FieldError, LineageError


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


@dataclass(frozen=True, slots=True)
class Spooled:
    """A run whose document waits in the file `path` of the spool: durable, and recorded by `fll replay`.

    `error` is why it was not sent.
    """

    run: str
    path: Path
    error: LineageError


Outcome: TypeAlias = Recorded | Spooled | NotRecorded


def to_recorded(result: RecordResult) -> Recorded:
    """Convert the result of a document with exactly one run; raises ValueError for another number of runs."""
    (run,) = result.runs
    return Recorded(run.run, run.checksum, run.recorded, run.replaced, result.warnings)
