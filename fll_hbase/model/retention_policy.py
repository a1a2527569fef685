"""Retention policies: cut-off times by dataset, by namespace and for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fll_hbase.model.datasets import Dataset

NEVER_MS = 0
"""The cut-off that expires no run: starts are never negative."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Cut-offs in milliseconds since 1970: runs that started earlier are expired.

    The cut-off of a dataset has priority over that of its namespace, and that over the default.
    """

    default_ms: int = NEVER_MS
    namespaces_ms: Mapping[str, int] = field(default_factory=dict)
    datasets_ms: Mapping[Dataset, int] = field(default_factory=dict)

    def cutoff_ms(self, dataset: Dataset) -> int:
        """Return the cut-off of a dataset: its own, else that of its namespace, else the default."""
        namespace_ms = self.namespaces_ms.get(dataset.namespace, self.default_ms)
        return self.datasets_ms.get(dataset, namespace_ms)
