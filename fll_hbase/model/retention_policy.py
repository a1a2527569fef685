"""Until when is lineage kept: horizons of end points, before which runs are purged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fll_hbase.model.datasets import Dataset

NEVER_MS = 0
"""A horizon that no run starts before."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What starts before a horizon goes: that of the end point, else of its namespace, else of all."""

    default_ms: int = NEVER_MS
    namespaces_ms: Mapping[str, int] = field(default_factory=dict)
    datasets_ms: Mapping[Dataset, int] = field(default_factory=dict)

    def cutoff_ms(self, end_point: Dataset) -> int:
        """The horizon of one end point, milliseconds since 1970."""
        own = self.datasets_ms.get(end_point)
        return self.namespaces_ms.get(end_point.namespace, self.default_ms) if own is None else own
