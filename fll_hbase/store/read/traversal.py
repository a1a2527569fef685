"""Breadth-first walk over datasets: lineage of several hops, composed of one-hop queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from fll_hbase import deadline
from fll_hbase.errors import DeadlineExceeded
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import DatasetLineageSet
from fll_hbase.model.window import Direction
from fll_hbase.store.results import DatasetLineageResult, LineageEntry


class HopLineage(NamedTuple):
    """The lineage of one dataset, and all names that it covers; the aliases are renamed to the dataset."""

    names: Collection[Dataset]
    relations: DatasetLineageSet


OneHop: TypeAlias = Callable[[Sequence[Dataset]], Iterable[HopLineage]]
"""Yields the lineage of datasets in their order; of several names of one dataset only for the first."""


def walk(
    one_hop: OneHop,
    start: Dataset,
    direction: Direction,
    *,
    level: int,
    level_max: int,
    pairs_max: int,
) -> DatasetLineageResult:
    """Return all lineage within `level` hops of `start`, at most `level_max`.

    Each pair of datasets has the number of the hop, from 1, that reaches it. The walk ends when the field
    pairs exceed `pairs_max`, or at the deadline of the request; the limits that cut the result are in
    `truncated_by`.
    """
    entries: list[LineageEntry] = []
    truncated_by: set[str] = set()
    limits = {"level": level, "level_max": level_max, "pairs_max": pairs_max}
    try:
        _collect(entries, truncated_by, one_hop, start, direction, **limits)
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
    return DatasetLineageResult(tuple(entries), tuple(sorted(truncated_by)))


def _collect(
    entries: list[LineageEntry],
    truncated_by: set[str],
    one_hop: OneHop,
    start: Dataset,
    direction: Direction,
    *,
    level: int,
    level_max: int,
    pairs_max: int,
) -> None:
    """Add lineage and the limits that cut it, as `walk` describes. Raises DeadlineExceeded."""
    visited: set[Dataset] = set()
    frontier = {start}
    pairs = 0
    for hop in range(1, min(level, level_max) + 1):
        neighbours: set[Dataset] = set()
        # In sorted order, so that truncation cuts the same part each time.
        for names, relations in one_hop(sorted(frontier)):
            # Each dataset is queried once, under all its names, so the walk ends on cycles, too.
            visited.update(names)
            # Here, because a hop whose contents are all cached never waits for the store.
            deadline.check()
            for relation in relations.by_datasets.values():
                if pairs + relation.size > pairs_max:
                    truncated_by.add(f"pairs_max={pairs_max}")
                    entries += _cut(LineageEntry(relation, hop, direction), pairs_max - pairs)
                    return
                pairs += relation.size
                entries.append(LineageEntry(relation, hop, direction))
                neighbour = relation.source if direction is Direction.BACKWARD else relation.destination
                # Generated and dropped fields have no dataset on the other side.
                if neighbour is not None:
                    neighbours.add(neighbour)
            if relations.truncated:
                truncated_by.add(f"pairs_max={pairs_max}")
        frontier = neighbours - visited
        if not frontier:
            break
    if frontier and level > level_max:
        truncated_by.add(f"level_max={level_max}")


def _cut(entry: LineageEntry, pairs_max: int) -> list[LineageEntry]:
    """Return an entry with the first pairs only, nothing if there may be none."""
    return [replace(entry, relation=entry.relation.cut(pairs_max))] if pairs_max else []


def sort_entries(entries: Iterable[LineageEntry]) -> tuple[LineageEntry, ...]:
    """Sort by level, source and destination, None first; ties in the order backward, forward."""
    return tuple(sorted(entries, key=_sort_key))


def _sort_key(entry: LineageEntry) -> tuple[object, ...]:
    relation = entry.relation
    return (
        entry.level,
        _null_first(relation.source),
        _null_first(relation.destination),
        entry.direction is Direction.FORWARD,
    )


def _null_first(dataset: Dataset | None) -> tuple[str, ...]:
    return () if dataset is None else (dataset.namespace, dataset.name)
