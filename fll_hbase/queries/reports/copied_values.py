"""Copied values: the fields within reach that have the value of the start field unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.hop_operations import Hop
from fll_hbase.store.query_parameters import EDGE_CONTENTS_MAX
from fll_hbase.store.results import ReachEdge

ValueKind: TypeAlias = Literal["copied", "mixed", "operations"]
"""Ways of a value to a field: all copy it at every hop, at least one does, or all have operations.

An operation may also pass a value on unchanged, which only its description can say.
"""

Ends: TypeAlias = tuple[DatasetField, DatasetField]
"""The source and the destination of a hop."""

COPY, OPERATIONS, UNKNOWN = "copy", "operations", "unknown"


class CopiedValues:
    """The value of one field in the fields within its reach, over direct edges from `near` to `far`.

    `kinds` lists the kinds of the ways of each edge: COPY, OPERATIONS, UNKNOWN, or several of them. If the
    edges are not complete, a copy may not be the only way, and a missing copy proves nothing. The edges are
    walked three times.
    """

    def __init__(
        self, start: DatasetField, kinds: Mapping[Ends, frozenset[str]], *, is_complete: bool
    ) -> None:
        self._is_complete = is_complete

        # Edges that lead back to the start field do not matter.
        edges = {ends: listed for ends, listed in kinds.items() if ends[1] != start}
        self._copied = _reached([start], (ends for ends in edges if COPY in edges[ends]))
        self._may_be_copied = _reached([start], (ends for ends in edges if edges[ends] != {OPERATIONS}))
        self._may_be_computed = _reached((far for near, far in edges if edges[near, far] != {COPY}), edges)

    def kind(self, field: DatasetField) -> ValueKind | None:
        """Return the kind of a field's value, or None if it is unknown."""
        if field in self._copied:
            return "mixed" if field in self._may_be_computed or not self._is_complete else "copied"
        return "operations" if self._is_complete and field not in self._may_be_copied else None


def kinds_of_ways(edge: ReachEdge, ways: Sequence[Hop]) -> frozenset[str]:
    """Return the kinds of the ways of an edge; `ways` belong to the contents that are known.

    UNKNOWN is one of them unless all contents of the edge are listed, and each has a way.
    """
    kinds = {COPY for way in ways if way.is_copied} | {OPERATIONS for way in ways if way.operations}
    # There may be contents older than the listed ones, and contents whose way is hidden.
    if not edge.checksums or len(edge.checksums) >= EDGE_CONTENTS_MAX or len(ways) < len(edge.checksums):
        kinds.add(UNKNOWN)
    return frozenset(kinds)


def _reached(starts: Iterable[DatasetField], edges: Iterable[Ends]) -> set[DatasetField]:
    """Return fields and all fields that edges lead to from them."""
    following: dict[DatasetField, list[DatasetField]] = defaultdict(list)
    for near, far in edges:
        following[near].append(far)
    reached, left = set(), list(starts)
    while left:
        field = left.pop()
        if field not in reached:
            reached.add(field)
            left += following[field]
    return reached
