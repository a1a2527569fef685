"""Consumer lag: the messages of a topic that a stream has not read yet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PARTITIONS_MAX = 20
"""Maximum number of partitions that a report lists, beginning with the greatest lag."""


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """Messages that are not read yet: the total, and by `topic/partition` for the greatest lags."""

    total: int
    partitions: Mapping[str, int] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the lag as JSON members."""
        return {"total": self.total, "partitions": dict(self.partitions)}


def parse_lag(progress: Mapping[str, Any]) -> ConsumerLag | None:
    """Return the lag after a batch from Spark's progress, or None for sources without offsets."""
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
