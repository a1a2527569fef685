"""Stretches of runs that derived a field in the same way, built from runs given newest first."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.store.read.run_heads import RunHead
from fll_hbase.store.results import Stretch


@dataclass(slots=True)
class _OpenStretch:
    """A stretch to which older runs may be added; the counts are those of `Stretch`."""

    derivation: str
    last: RunHead
    first: RunHead
    runs: int
    missing: int
    missing_after: int

    def add(self, head: RunHead, *, missing: int) -> None:
        """Add an older run, with the number of runs without the field between it and those before."""
        self.first = head
        self.runs += 1
        self.missing += missing

    def build(self) -> Stretch:
        return Stretch(
            self.last.checksum,
            first_run=self.first.run,
            last_run=self.last.run,
            first_start_ms=self.first.start_ms,
            last_start_ms=self.last.start_ms,
            runs=self.runs,
            missing=self.missing,
            missing_after=self.missing_after,
        )


class StretchUnion:
    """Stretches under construction; runs are added newest first, at most `stretches_max` stretches."""

    def __init__(self, *, stretches_max: int) -> None:
        self._stretches_max = stretches_max
        self._stretches: list[_OpenStretch] = []
        self._missing = 0

    @property
    def missing(self) -> int:
        """How many runs since the oldest one with the field wrote the dataset without it."""
        return self._missing

    def add(self, head: RunHead, derivation: str) -> bool:
        """Add a run that is older than those before; return False if its stretch has no room.

        `derivation` is equal for runs that derived the field in the same way, and empty if the run wrote
        the dataset without the field.
        """
        if not derivation:
            self._missing += 1
            return True
        if self._stretches and self._stretches[-1].derivation == derivation:
            self._stretches[-1].add(head, missing=self._missing)
        elif len(self._stretches) == self._stretches_max:
            return False
        else:
            self._stretches.append(_OpenStretch(derivation, head, head, 1, 0, self._missing))
        self._missing = 0
        return True

    def build(self) -> tuple[Stretch, ...]:
        """Return the stretches, the newest first."""
        return tuple(stretch.build() for stretch in self._stretches)
