"""Lineage of an aspect before it becomes operations: dataset edges and field derivations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField

_T = TypeVar("_T", Dataset, DatasetField)


@dataclass(frozen=True, slots=True)
class Derivation:
    """One fine-grained entry: each of `downstreams` is made of all `upstreams`, and of `whole` end points.

    All are sorted, and nothing stands twice. `operation` and `query` are empty where nobody named them.
    """

    downstreams: tuple[DatasetField, ...]
    operation: str
    query: str
    upstreams: tuple[DatasetField, ...]
    dataset_upstreams: tuple[Dataset, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class AspectLineage:
    """All that one aspect says of lineage, in no order that matters.

    `fields` are named without a word on what became of them, `constraints` decided which rows there are in
    every destination. `newest_ms` is the newest audit stamp, else 0.
    """

    sources: frozenset[Dataset]
    destinations: frozenset[Dataset]
    derivations: tuple[Derivation, ...] = ()
    fields: frozenset[DatasetField] = frozenset()
    constraints: frozenset[DatasetField] = frozenset()
    queries: frozenset[str] = frozenset()
    newest_ms: int = 0

    @property
    def empty(self) -> bool:
        """Return whether there is neither a source nor a derivation."""
        return not (self.sources or self.destinations or self.derivations)


def merge_entries(derivations: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Sort entries and merge those that differ in upstreams only, because patches list sources one by one."""
    grouped: dict[tuple[tuple[DatasetField, ...], str, str], list[Derivation]] = {}
    for each_of in derivations:
        key = each_of.downstreams, each_of.operation, each_of.query
        grouped.setdefault(key, []).append(each_of)
    return tuple(
        Derivation(
            *key,
            upstreams=in_order(field for entry in entries for field in entry.upstreams),
            dataset_upstreams=in_order(dataset for entry in entries for dataset in entry.dataset_upstreams),
            confidence=min(entry.confidence for entry in entries),
        )
        for key, entries in sorted(grouped.items(), key=lambda item: item[0])
    )


def in_order(items: Iterable[_T]) -> tuple[_T, ...]:
    """Return the items sorted without duplicates."""
    return tuple(sorted(set(items)))
