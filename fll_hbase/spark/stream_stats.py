"""What did a batch of a stream come to, and all of them: in numbers for programs, in words for people."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.spark.stats import LineCounts, describe, to_members


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch came to, and how long it took; of a second go too, which finds much repeated."""

    number: int
    counts: LineCounts
    seconds: float

    def summary(self) -> dict[str, int | float]:
        """For a program."""
        return {"batch": self.number, **to_members(self.counts, self.seconds)}

    def __str__(self) -> str:
        return f"batch {self.number}: {describe(self.counts, self.seconds)}"


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What all batches came to, and how long it took with all waiting."""

    batches: int
    counts: LineCounts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """For a program."""
        said = to_members(self.counts, self.seconds)
        return {"job": "stream", "batches": self.batches, **said, "rejects": self.rejects}

    def __str__(self) -> str:
        return f"{self.batches} batches: {describe(self.counts, self.seconds, rejects=self.rejects)}"
