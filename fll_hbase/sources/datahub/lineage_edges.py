"""Lineage of an aspect before it becomes operations: dataset edges and field derivations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.runtime import deadline

_T = TypeVar("_T", Dataset, DatasetField)


@dataclass(frozen=True, slots=True)
class Derivation:
    """One fine-grained entry: each of `downstreams` derives from all `upstreams` and `dataset_upstreams`.

    `dataset_upstreams` are datasets without a field. All three are sorted and without duplicates.
    `operation` and `query` are empty if the entry lacks them; `confidence` is from 0 to 1.
    """

    downstreams: tuple[DatasetField, ...]
    operation: str
    query: str
    upstreams: tuple[DatasetField, ...]
    dataset_upstreams: tuple[Dataset, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class AspectLineage:
    """The lineage of one aspect, independent of the order in its arrays.

    `fields` are fields read or written with unknown derivation. `constraints` are fields that decide which
    rows every destination gets. `newest_ms` is the newest audit stamp in ms since 1970, or 0 if there is
    none.
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
        """Return whether the aspect has neither datasets nor derivations."""
        return not (self.sources or self.destinations or self.derivations)


def merge_entries(derivations: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Sort entries, and merge entries with equal downstreams, operation and query."""
    grouped: dict[tuple[tuple[DatasetField, ...], str, str], list[Derivation]] = {}
    for each_of in deadline.watched(derivations):
        # A patch has a separate entry for each upstream of a derivation.
        key = each_of.downstreams, each_of.operation, each_of.query
        grouped.setdefault(key, []).append(each_of)
    return tuple(
        Derivation(
            *key,
            upstreams=in_order(field for entry in entries for field in entry.upstreams),
            dataset_upstreams=in_order(dataset for entry in entries for dataset in entry.dataset_upstreams),
            # A merged derivation is as certain as its least certain part.
            confidence=min(entry.confidence for entry in entries),
        )
        for key, entries in deadline.watched(sorted(grouped.items(), key=lambda item: item[0]))
    )


def respell(lineage: AspectLineage, spelled: Callable[[DatasetField], DatasetField]) -> AspectLineage:
    """Return a lineage with each field spelled by `spelled`; merge entries that become equal."""
    return replace(
        lineage,
        derivations=merge_entries(
            replace(
                entry,
                downstreams=in_order(map(spelled, entry.downstreams)),
                upstreams=in_order(map(spelled, entry.upstreams)),
            )
            for entry in lineage.derivations
        ),
        fields=frozenset(map(spelled, lineage.fields)),
        constraints=frozenset(map(spelled, lineage.constraints)),
    )


def in_order(items: Iterable[_T]) -> tuple[_T, ...]:
    """Return the items sorted without duplicates."""
    return tuple(sorted(set(items)))
