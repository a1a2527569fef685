"""Field reach: the fields that lead to one field, or that it leads to, over many hops.

The walk goes level by level, and reads all datasets of a level together, so the number of calls follows the
levels. A field is expanded once; with `causal` again whenever a later level admits more runs of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.errors import DeadlineExceeded
from fll_hbase.keys import layout
from fll_hbase.model import field_relations
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import FieldEdge
from fll_hbase.model.operations import Influence
from fll_hbase.model.window import Direction
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.reach_walk import Expansion, ReachQuery, ReachWalk, first_bound
from fll_hbase.store.read.run_spans import RunSpanReader, Spans, bound_of
from fll_hbase.store.read.window_query import WindowQuery, WindowReader
from fll_hbase.store.results import Reach

DATASETS_PER_READ = 128
"""Datasets of one level that are read together."""

_WALK_SHARE = 0.6
"""The part of a request's time in which fields are reached; the rest is for counting their runs."""


class _ContentsOfName(NamedTuple):
    """The contents of a query under one name of its dataset, with the bound of the newest run of each."""

    name: Dataset
    bounds: Mapping[str, int]


class ReachReader:
    """Answers queries of field reach. Threads may share it."""

    def __init__(
        self, windows: WindowReader, contents: ContentCache, spans: RunSpanReader, settings: Settings
    ) -> None:
        self._windows = windows
        self._contents = contents
        self._spans = spans
        self._settings = settings

    def reach(self, query: ReachQuery) -> Reach:
        """Return all that is within reach, up to the limits that `truncated_by` names.

        At the deadline the walk ends where it is; edges whose runs were not counted by then have no span.
        Raises DeadlineExceeded if it passes before the first edge.
        """
        walk = ReachWalk(query, edges_max=self._settings.connections_max)
        with deadline.shared(_WALK_SHARE if query.counts else 1.0):
            self._walk(walk)
        spans = self._count(walk) if query.counts and walk.edges else {}
        return walk.result(spans)

    def _walk(self, walk: ReachWalk) -> None:
        level, level_max = walk.query.level, self._settings.level_max
        try:
            for _ in range(min(level or level_max, level_max)):
                self._walk_level(walk)
                if walk.is_full or not walk.has_next:
                    return
        except DeadlineExceeded:
            if not walk.edges:
                raise
            walk.truncated_by.add(deadline.limit())
            return
        if level is None or level > level_max:
            walk.truncated_by.add(f"level_max={level_max}")

    def _walk_level(self, walk: ReachWalk) -> None:
        expansions = walk.next_expansions()
        for begin in range(0, len(expansions), DATASETS_PER_READ):
            if not walk.is_full:
                self._expand(walk, expansions[begin : begin + DATASETS_PER_READ])

    def _expand(self, walk: ReachWalk, expansions: Sequence[Expansion]) -> None:
        """Add the edges of fields, as long as there is room."""
        queries = [walk.window_query(expansion.dataset, expansion.bound) for expansion in expansions]
        by_name = self._windows.checksums_by_name(queries)
        contents = self._newest_bounds(walk.query, queries, by_name)
        for expansion, names in zip(expansions, contents, strict=True):
            first_name = walk.canonical_name(expansion.dataset, (name.name for name in names))
            walk.expand(first_name, expansion)
            for name, bounds in names:
                for checksum, bound in sorted(bounds.items()):
                    for edge in self._edges(walk.query, checksum, name, expansion.names):
                        if not walk.add(first_name, name, edge, checksum, bound):
                            return

    def _newest_bounds(
        self,
        query: ReachQuery,
        queries: Sequence[WindowQuery],
        by_name: Sequence[Mapping[Dataset, frozenset[str]]],
    ) -> list[list[_ContentsOfName]]:
        """Return the contents of each query by name, with the bound of that run which admits most others."""
        if not query.causal:
            bound = first_bound(query)
            return [
                [_ContentsOfName(name, dict.fromkeys(checksums, bound)) for name, checksums in names.items()]
                for names in by_name
            ]
        checksums_by_query = {
            replace(window_query, dataset=name): checksums
            for window_query, names in zip(queries, by_name, strict=True)
            for name, checksums in names.items()
        }
        is_forward = query.direction is Direction.FORWARD
        tails = self._windows.newest_references(checksums_by_query, oldest=is_forward)
        by_query = dict(zip(checksums_by_query, tails, strict=True))
        return [
            [
                _ContentsOfName(name, _bounds(query.direction, by_query[replace(window_query, dataset=name)]))
                for name in names
            ]
            for window_query, names in zip(queries, by_name, strict=True)
        ]

    def _edges(
        self, query: ReachQuery, checksum: str, name: Dataset, names: frozenset[str] | None
    ) -> Iterator[FieldEdge]:
        """Yield the edges of fields in one content. Raises DeadlineExceeded."""
        backward = query.direction is Direction.BACKWARD
        edges_of = field_relations.edges_into if backward else field_relations.edges_out_of
        for edge in edges_of(self._contents.field_map(checksum), name, names=names):
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            if query.indirect or edge.influence is not Influence.INDIRECT:
                yield edge

    def _count(self, walk: ReachWalk) -> dict[Dataset, Spans]:
        """Return the spans of the contents of each expanded dataset that has edges, until the deadline."""
        queries = walk.span_queries()
        spans: dict[Dataset, Spans] = {}
        try:
            for begin in range(0, len(queries), DATASETS_PER_READ):
                chunk = queries[begin : begin + DATASETS_PER_READ]
                results = self._spans.spans([query for _, query in chunk])
                for (dataset, _), counted in zip(chunk, results, strict=True):
                    # Under several names a run has the same content, and is counted under the first.
                    spans[dataset] = {**counted, **spans.get(dataset, {})}
        except DeadlineExceeded:
            walk.truncated_by.add(deadline.limit())
        return spans


def _bounds(direction: Direction, tails: Mapping[str, bytes]) -> dict[str, int]:
    return {
        checksum: bound_of(direction, layout.parse_reference_tail(tail).start_ms)
        for checksum, tail in tails.items()
    }
