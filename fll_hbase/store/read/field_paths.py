"""Shortest paths over the edges of a field reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.store.results import Reach

FieldPath = tuple[DatasetField, ...]
"""Fields from a source to a field derived from it, with one edge between neighbours."""


def next_fields(
    reach: Reach, origin: DatasetField, direction: Direction
) -> Mapping[DatasetField, DatasetField]:
    """Return, for each field within reach, the next one on a shortest path to `origin`; omit `origin`.

    The nearest fields come first.
    Among several shortest paths, the one with the smallest names is used, so that answers are reproducible.
    """
    neighbours: dict[DatasetField, list[DatasetField]] = defaultdict(list)
    for edge in reach.edges:
        near, far = edge.source, edge.destination
        if direction is Direction.BACKWARD:
            near, far = far, near
        else:
            # An influence on a whole dataset continues from each of its fields.
            neighbours[DatasetField(near.dataset, WHOLE_DATASET)].append(far)
        neighbours[near].append(far)
    following: dict[DatasetField, DatasetField] = {}
    level = [origin]
    while level:
        reached = []
        for near in sorted(level):
            for far in neighbours[near]:
                if far != origin and far not in following:
                    following[far] = near
                    reached.append(far)
        level = reached
    return following


def path_between(
    field: DatasetField, following: Mapping[DatasetField, DatasetField], direction: Direction
) -> FieldPath:
    """Return the path between a field and the origin of `next_fields`, in the direction of the data.

    A field that is not in `following` is a path of its own.
    """
    path = [field]
    while path[-1] in following:
        path.append(following[path[-1]])
    # Backward, the field is upstream of the origin; forward, it is downstream.
    return tuple(path if direction is Direction.BACKWARD else reversed(path))
