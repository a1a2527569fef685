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

    `recorded` is false if the same lineage of the run was stored before. `replaced` is true if this lineage
    replaces other lineage of the run. `warnings` name parts that were ignored or could not be resolved.
    `checksum` identifies the content: runs with equal operations have equal checksums.
    """

    run: str
    checksum: str
    recorded: bool
    replaced: bool
    warnings: tuple[FieldError, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """A run that was not recorded, with the error.

    After StoreUnavailable the run may nevertheless be stored; recording it again is safe.
    """

    run: str
    error: Exception


@dataclass(frozen=True, slots=True)
class Spooled:
    """A run whose document waits in the file `path` of the spool, until `fll replay` records it.

    The file is durable. `error` is the reason why the document was not sent.
    """

    run: str
    path: Path
    error: LineageError


Outcome: TypeAlias = Recorded | Spooled | NotRecorded


def to_recorded(result: RecordResult) -> Recorded:
    """Convert the result of a document with exactly one run; raise ValueError for any other number."""
    (run,) = result.runs
    return Recorded(run.run, run.checksum, run.recorded, run.replaced, result.warnings)
