"""What did a batch of a stream come to, and all of them: in numbers for programs, in words for people."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.spark.stats import Counts, numbers, words


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch came to, and how long it took; of a second go too, which finds much repeated."""

    number: int
    counts: Counts
    seconds: float

    def summary(self) -> dict[str, int | float]:
        """For a program."""
        return {"batch": self.number, **numbers(self.counts, self.seconds)}

    def __str__(self) -> str:
        return f"batch {self.number}: {words(self.counts, self.seconds)}"


@dataclass(frozen=True, slots=True)
class Streamed:
    """What all batches came to, and how long it took with all waiting."""

    batches: int
    counts: Counts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """For a program."""
        said = numbers(self.counts, self.seconds)
        return {"job": "stream", "batches": self.batches, **said, "rejects": self.rejects}

    def __str__(self) -> str:
        return f"{self.batches} batches: {words(self.counts, self.seconds, rejects=self.rejects)}"
