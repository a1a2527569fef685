"""Many hops: what the end points of one hop were made of, or made into, in the same window."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import DatasetLineage, DatasetLineageSet
from fll_hbase.model.window import Direction


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """A relation, and how many hops from the end point asked about it was first found."""

    relation: DatasetLineage
    level: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class DatasetLineageResult:
    """The answer to a high-level question; `truncated_by` names each bound that left something out."""

    entries: tuple[LineageEntry, ...]
    truncated_by: tuple[str, ...]


Ask: TypeAlias = Callable[[Dataset, Sequence[Dataset]], DatasetLineageSet]
"""What is said of an end point under any of its names, told under the first."""

Aliases: TypeAlias = Callable[[Collection[Dataset]], Mapping[Dataset, Sequence[Dataset]]]
"""The further names of end points, for those that have any."""


def walk(
    ask: Ask,
    start: Dataset,
    direction: Direction,
    *,
    aliases: Aliases,
    level: int,
    level_max: int,
    pairs_max: int,
) -> DatasetLineageResult:
    """All relations within `level` hops.

    Every end point is asked once, under all its names, so cycles end the walk.
    """
    entries: list[LineageEntry] = []
    truncated: set[str] = set()
    asked: set[Dataset] = set()
    frontier = {start}
    pairs = 0
    for hop in range(1, min(level, level_max) + 1):
        found: set[Dataset] = set()
        for end_point, others in _named(frontier, aliases):
            asked |= {end_point, *others}
            relations = ask(end_point, others)
            for relation in relations.by_datasets.values():
                pairs += len(relation.direct) + len(relation.indirect) + len(relation.dataset_wide)
                if pairs > pairs_max:
                    return DatasetLineageResult(tuple(entries), (*truncated, f"pairs_max={pairs_max}"))
                entries.append(LineageEntry(relation, hop, direction))
                neighbour = relation.source if direction is Direction.BACKWARD else relation.destination
                if neighbour is not None:
                    found.add(neighbour)
            if relations.truncated:
                truncated.add(f"pairs_max={pairs_max}")
        frontier = found - asked
        if not frontier:
            break
    if frontier and level > level_max:
        truncated.add(f"level_max={level_max}")
    return DatasetLineageResult(tuple(entries), tuple(sorted(truncated)))


def _named(frontier: Collection[Dataset], aliases: Aliases) -> Iterator[tuple[Dataset, Sequence[Dataset]]]:
    """Each end point of the frontier once, in order, with its further names."""
    further = aliases(frontier)
    seen: set[Dataset] = set()
    for end_point in sorted(frontier):
        if end_point not in seen:
            others = further.get(end_point, ())
            seen |= {end_point, *others}
            yield end_point, others


def in_order(entries: list[LineageEntry]) -> tuple[LineageEntry, ...]:
    """By level, source and destination, what is null first; backward first where all else is equal."""
    return tuple(sorted(entries, key=_place))


def _place(entry: LineageEntry) -> tuple[object, ...]:
    relation = entry.relation
    return (
        entry.level,
        _null_first(relation.source),
        _null_first(relation.destination),
        entry.direction is Direction.FORWARD,
    )


def _null_first(end_point: Dataset | None) -> tuple[str, ...]:
    return () if end_point is None else (end_point.namespace, end_point.name)
