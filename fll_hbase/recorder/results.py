"""What became of a run that was to be recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.errors import FieldError


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run that is stored, durably.

    `recorded` is false for the very same again, `replaced` is true where the run said something else before;
    `warnings` tell what was ignored or taken as it is.
    """

    run: str
    checksum: str
    recorded: bool
    replaced: bool
    warnings: tuple[FieldError, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """A run that is not known to be stored, and why.

    After a StoreUnavailable it may have landed all the same; recording it again is safe.
    """

    run: str
    error: Exception


Outcome: TypeAlias = Recorded | NotRecorded
