"""Statistics of jobs that record lines: JSON members for programs, sentences for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from operator import add
from typing import Any

PARTITIONS_MAX = 20
"""Maximum number of partitions that a report lists, beginning with the greatest lag."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Lines by their outcome; `replaced` are included in `recorded`."""

    recorded: int = 0
    repeated: int = 0
    rejected: int = 0
    replaced: int = 0

    @property
    def read(self) -> int:
        """Return the number of all lines: recorded, repeated and rejected."""
        return self.recorded + self.repeated + self.rejected

    def __str__(self) -> str:
        """Return the counts by outcome as text, with commas between thousands."""
        recorded = f"{self.recorded:,} recorded ({self.replaced:,} replaced)"
        return f"{self.read:,} read: {recorded}, {self.repeated:,} duplicates, {self.rejected:,} rejected"

    def __add__(self, other: LineCounts) -> LineCounts:
        """Return the sums of both counts."""
        return LineCounts(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Counts and duration of a load, the directory of rejected lines, and how many files were read."""

    counts: LineCounts
    seconds: float
    rejects: str
    files: int

    def summary(self) -> dict[str, int | float | str]:
        """Return the report as JSON members."""
        members = to_members(self.counts, self.seconds)
        return {"job": "load", "files": self.files, **members, "rejects": self.rejects}

    def __str__(self) -> str:
        """Return files, counts, rate and the directory of rejected lines as one line of text."""
        return f"{self.files:,} files: {describe(self.counts, self.seconds, rejects=self.rejects)}"


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """Messages that are not read yet: the total, and by `topic/partition` for the greatest lags."""

    total: int
    partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """Counts and duration of a batch, with the lag of Kafka. Lines of a repeated batch are duplicates."""

    number: int
    counts: LineCounts
    seconds: float
    lag: ConsumerLag | None = None

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        lag = {"lag": asdict(self.lag)} if self.lag else {}
        return {"batch": self.number, **to_members(self.counts, self.seconds), **lag}

    def __str__(self) -> str:
        """Return number, counts, rate and lag of the batch as one line of text."""
        lag = f"; {self.lag.total:,} messages behind" if self.lag else ""
        return f"batch {self.number}: {describe(self.counts, self.seconds)}{lag}"


@dataclass(frozen=True, slots=True)
class StreamReport:
    """Counts of all batches of a stream; `seconds` include waiting for input."""

    batches: int
    counts: LineCounts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """Return the report as JSON members."""
        members = to_members(self.counts, self.seconds)
        return {"job": "stream", "batches": self.batches, **members, "rejects": self.rejects}

    def __str__(self) -> str:
        """Return batches, counts, rate and the directory of rejected lines as one line of text."""
        return f"{self.batches} batches: {describe(self.counts, self.seconds, rejects=self.rejects)}"


def to_members(counts: LineCounts, seconds: float) -> dict[str, int | float]:
    """Return counts, duration in seconds and lines per second as JSON members."""
    members = {"read": counts.read, **asdict(counts)}
    return {**members, "seconds": round(seconds, 1), "per_second": round(_per_second(counts, seconds), 1)}


def describe(counts: LineCounts, seconds: float, *, rejects: str = "") -> str:
    """Return counts, duration and rate as a sentence, with the directory of rejected lines if any are."""
    text = f"{counts} in {seconds:.1f} s, {_per_second(counts, seconds):,.0f} per second"
    return f"{text}; rejected lines are in {rejects}" if counts.rejected and rejects else text


def _per_second(counts: LineCounts, seconds: float) -> float:
    """Return the lines read per second; durations below a millisecond count as one."""
    return counts.read / max(seconds, 0.001)


def parse_lag(progress: Mapping[str, Any]) -> ConsumerLag | None:
    """Return the lag after a batch from Spark's progress, or None for sources without offsets.

    Lists at most PARTITIONS_MAX partitions, those with a lag, the greatest first.
    """
    source: Mapping[str, Any] = next(iter(progress.get("sources", ())), {})
    ends, latest = (_parse_offsets(source.get(name)) for name in ("endOffset", "latestOffset"))
    if not ends:
        return None
    lags = {name: max(offset - ends.get(name, offset), 0) for name, offset in latest.items()}
    furthest = sorted(lags.items(), key=lambda item: (-item[1], item[0]))[:PARTITIONS_MAX]
    return ConsumerLag(sum(lags.values()), {name: lag for name, lag in furthest if lag})


def _parse_offsets(offsets: Any) -> dict[str, int]:
    """Return offsets by `topic/partition` from text or values, or {} for a source other than Kafka."""
    topics = json.loads(offsets) if isinstance(offsets, str) else offsets
    if not isinstance(topics, Mapping) or not all(isinstance(value, Mapping) for value in topics.values()):
        return {}
    return {
        f"{topic}/{partition}": int(offset)
        for topic, partitions in topics.items()
        for partition, offset in partitions.items()
    }
