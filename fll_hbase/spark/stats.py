"""What became of lines, in numbers for programs and in words for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines there were, and what became of them; those recorded in another's place are recorded."""

    recorded: int = 0
    repeated: int = 0
    rejected: int = 0
    replaced: int = 0

    @property
    def read(self) -> int:
        return self.recorded + self.repeated + self.rejected

    def __str__(self) -> str:
        told = f"{self.recorded:,} recorded ({self.replaced:,} in another's place)"
        return f"{self.read:,} read: {told}, {self.repeated:,} repeated, {self.rejected:,} rejected"

    def __add__(self, other: LineCounts) -> LineCounts:
        return LineCounts(
            self.recorded + other.recorded,
            self.repeated + other.repeated,
            self.rejected + other.rejected,
            self.replaced + other.replaced,
        )


def to_members(counts: LineCounts, seconds: float) -> dict[str, int | float]:
    """For a program: lines read are recorded, repeated and rejected ones."""
    said = {"read": counts.read, **asdict(counts)}
    return {**said, "seconds": round(seconds, 1), "per_second": round(_per_second(counts, seconds), 1)}


def describe(counts: LineCounts, seconds: float, *, rejects: str = "") -> str:
    """For people, with where rejected lines are, if there are any."""
    told = f"{counts} in {seconds:.1f} s, {_per_second(counts, seconds):,.0f} a second"
    return f"{told}; rejected lines are in {rejects}" if counts.rejected and rejects else told


def _per_second(counts: LineCounts, seconds: float) -> float:
    return counts.read / max(seconds, 0.001)
