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

    The cut-off of a dataset takes precedence over its namespace's, which takes precedence over the default.
    """

    default_ms: int = NEVER_MS
    namespaces_ms: Mapping[str, int] = field(default_factory=dict)
    datasets_ms: Mapping[Dataset, int] = field(default_factory=dict)

    def cutoff_ms(self, dataset: Dataset) -> int:
        """Return the cut-off of a dataset: its own, its namespace's, or the default."""
        return self.datasets_ms.get(dataset, self._namespace_cutoff_ms(dataset.namespace))

    def merged(self, other: RetentionPolicy) -> RetentionPolicy:
        """Return the policy with the later of both cut-offs for every dataset."""
        names = self.namespaces_ms.keys() | other.namespaces_ms.keys()
        datasets = self.datasets_ms.keys() | other.datasets_ms.keys()
        return RetentionPolicy(
            max(self.default_ms, other.default_ms),
            {name: max(self._namespace_cutoff_ms(name), other._namespace_cutoff_ms(name)) for name in names},
            {dataset: max(self.cutoff_ms(dataset), other.cutoff_ms(dataset)) for dataset in datasets},
        )

    def _namespace_cutoff_ms(self, namespace: str) -> int:
        """Return the cut-off for datasets of a namespace without a cut-off of their own."""
        return self.namespaces_ms.get(namespace, self.default_ms)
