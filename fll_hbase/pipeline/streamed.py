"""What did a batch of a stream come to, and all of them: in numbers for programs, in words for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fll_hbase.pipeline.load import Counts


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch came to, and how long it took; of a second go too, which finds much repeated."""

    number: int
    counts: Counts
    seconds: float

    def summary(self) -> dict[str, int | float]:
        """For a program."""
        return {"batch": self.number, **_numbers(self.counts, self.seconds)}

    def __str__(self) -> str:
        return f"batch {self.number}: {_words(self.counts, self.seconds)}"


@dataclass(frozen=True, slots=True)
class Streamed:
    """What all batches came to, and how long it took with all waiting."""

    batches: int
    counts: Counts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """For a program."""
        numbers = _numbers(self.counts, self.seconds)
        return {"job": "stream", "batches": self.batches, **numbers, "rejects": self.rejects}

    def __str__(self) -> str:
        told = f"{self.batches} batches: {_words(self.counts, self.seconds)}"
        return f"{told}; rejected lines are in {self.rejects}" if self.counts.rejected else told


def _numbers(counts: Counts, seconds: float) -> dict[str, int | float]:
    said = {"read": counts.read, **asdict(counts)}
    return {**said, "seconds": round(seconds, 3), "per_second": round(_per_second(counts, seconds), 1)}


def _words(counts: Counts, seconds: float) -> str:
    return f"{counts} in {seconds:.1f} s, {_per_second(counts, seconds):,.0f} a second"


def _per_second(counts: Counts, seconds: float) -> float:
    return counts.read / max(seconds, 0.001)
