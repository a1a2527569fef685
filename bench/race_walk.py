"""Walks over the tables made by hand: from a field to all that lead to it, or that it leads to."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.model.window import Window

FieldName: TypeAlias = tuple[str, str, str]
"""Namespace and name of a dataset, and the name of a field."""

Edges: TypeAlias = Mapping[int, list[tuple[int, int, bool]]]
"""By the near end: the far ends with their datasets, and whether the edge is direct."""

K = TypeVar("K")
V = TypeVar("V")

_UNBOUNDED = -(2**63)
"""Below every bound."""

_SPANS = """
SELECT content, runs, first, last,
    (SELECT run FROM run WHERE content = counted.content AND start = last AND NOT failed LIMIT 1)
FROM (
    SELECT content, count(*) AS runs, min(start) AS first, max(start) AS last
    FROM dataset_content CROSS JOIN run USING (content)
    WHERE dataset = ? AND written = ? AND start >= ? AND start < ? AND NOT failed
    GROUP BY content
) AS counted
"""
_EDGES = """
SELECT near.id, far.id, far.dataset, direct
FROM content_edge JOIN field AS near ON near.id = {near} JOIN field AS far ON far.id = {far}
WHERE content = ? AND near.dataset = ?
"""
_DROPPED = """
SELECT field FROM dropped_field JOIN field ON field.id = field WHERE content = ? AND dataset = ?
"""
_NAME = """
SELECT namespace, dataset.name, field.name FROM field JOIN dataset ON dataset.id = field.dataset
WHERE field.id = ?
"""


class Span(NamedTuple):
    """A number of runs, their first and last start in milliseconds since 1970, and the id of the last one."""

    runs: int
    first_ms: int
    last_ms: int
    last_run: str

    def union(self, other: Span) -> Span:
        """Return the span of the runs of both, which are different runs."""
        last = self if self.last_ms >= other.last_ms else other
        return Span(self.runs + other.runs, min(self.first_ms, other.first_ms), last.last_ms, last.last_run)


class Tables:
    """Reads the tables. Names, and edges of a content, never change: with `caches` each is read once."""

    def __init__(self, connection: sqlite3.Connection, *, caches: bool) -> None:
        self.connection = connection
        self._caches = caches
        self._names: dict[int, FieldName] = {}
        self._stars: dict[int, int] = {}
        self._edges: dict[tuple[int, int, bool], Edges] = {}
        self._dropped: dict[tuple[int, int], frozenset[int]] = {}

    def name(self, field: int) -> FieldName:
        """Return the name of a field."""
        name = self._names.get(field)
        if name is None:
            name = self.connection.execute(_NAME, (field,)).fetchone()
            self._keep(self._names, field, name)
        return name

    def whole_dataset(self, dataset: int) -> int:
        """Return the field `*` of a dataset."""
        field = self._stars.get(dataset)
        if field is None:
            query = "SELECT id FROM field WHERE dataset = ? AND name = ?"
            (field,) = self.connection.execute(query, (dataset, WHOLE_DATASET)).fetchone()
            self._keep(self._stars, dataset, field)
        return field

    def spans(self, dataset: int, window: Window, *, backward: bool) -> list[tuple[int, Span]]:
        """Return the contents that wrote a dataset, or read it, with their runs of a window."""
        bounds = dataset, backward, window.start_ms, window.stop_ms
        return [(row[0], Span(*row[1:])) for row in self.connection.execute(_SPANS, bounds)]

    def edges(self, content: int, dataset: int, *, backward: bool) -> Edges:
        """Return the edges of a content into the fields of a dataset, or out of them."""
        key = content, dataset, backward
        edges = self._edges.get(key)
        if edges is None:
            read: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
            near, far = ("destination", "source") if backward else ("source", "destination")
            for row in self.connection.execute(_EDGES.format(near=near, far=far), (content, dataset)):
                read[row[0]].append(row[1:])
            edges = dict(read)
            self._keep(self._edges, key, edges)
        return edges

    def dropped(self, content: int, dataset: int) -> frozenset[int]:
        """Return the fields of a dataset that a content reads and does not use."""
        key = content, dataset
        fields = self._dropped.get(key)
        if fields is None:
            fields = frozenset(field for (field,) in self.connection.execute(_DROPPED, key))
            self._keep(self._dropped, key, fields)
        return fields

    def _keep(self, values: dict[K, V], key: K, value: V) -> None:
        if self._caches:
            values[key] = value


@dataclass(slots=True)
class Edge:
    """An edge: `direct` if it is direct in any content, and `span` for the runs of all contents."""

    direct: bool
    span: Span


class WalkQuery(NamedTuple):
    """The field to start at and its dataset. The other members are the same as in `ReachQuery`."""

    field: int
    dataset: int
    window: Window
    backward: bool
    causal: bool
    indirect: bool = True


class Walk:
    """Fields that a walk reached: hops, edges by their near and far end, and those that some run dropped.

    A bound is the latest start of runs that count (backward), or the earliest one, negated (forward).
    """

    def __init__(
        self, tables: Tables, query: WalkQuery, spans: dict[tuple[int, int], list[tuple[int, Span]]]
    ) -> None:
        """Begin at the field; `spans` is shared by walks over one window in one direction."""
        self.start = query.field
        self.hops = {query.field: 0}
        self.edges: dict[int, dict[int, Edge]] = {}
        self.reached: set[int] = set()
        self.datasets = {query.field: query.dataset}
        self.dropped: set[int] = set()
        self._tables = tables
        self._query = query
        self._spans = spans
        self._level = 0
        self._previous: dict[int, int] = {}
        first = query.window.stop_ms - 1 if query.backward else -query.window.start_ms
        self._bounds = {query.field: first}
        self._expanded: dict[int, int] = {}
        self._next = {query.field}

    def run(self, level: int | None) -> None:
        """Walk up to a number of hops, None for all."""
        while self._next and self._level != level:
            self._level += 1
            groups: dict[tuple[int, int], list[int]] = defaultdict(list)
            for field in self._next:
                groups[self.datasets[field], self._bounds[field]].append(field)
            self._next = set()
            for (dataset, bound), fields in groups.items():
                self._expand(dataset, bound, fields)

    def path(self, field: int) -> list[int]:
        """Return a path of a forward walk, from the start to a field that was reached."""
        path = [field]
        while field != self.start:
            field = self._previous[field]
            path.append(field)
        return path[::-1]

    def _expand(self, dataset: int, bound: int, fields: list[int]) -> None:
        """Add the edges of fields within a bound, unless they were added within a greater bound."""
        backward = self._query.backward
        contents = self._contents(dataset, bound)
        edges = [self._tables.edges(content, dataset, backward=backward) for content, _ in contents]
        star = self._tables.whole_dataset(dataset)
        is_star = not backward and star in fields
        if backward:
            # Influences on the dataset as a whole also lead to each of its fields.
            self.hops.setdefault(star, self._level - 1)
            fields.append(star)
        else:
            dropped = [self._tables.dropped(content, dataset) for content, _ in contents]
            self.dropped.update(*(names if is_star else names.intersection(fields) for names in dropped))
        for near in set(fields).union(*edges) if is_star else fields:
            if bound > self._expanded.get(near, _UNBOUNDED):
                self._expanded[near] = bound
                if is_star:
                    self._previous.setdefault(near, star)
                self._follow(near, dataset, bound, zip(contents, edges, strict=True))

    def _follow(
        self, near: int, dataset: int, bound: int, contents: Iterable[tuple[tuple[int, Span], Edges]]
    ) -> None:
        """Set the edges of one field, and note the fields at their other ends for the next level."""
        is_causal, backward, indirect = self._query.causal, self._query.backward, self._query.indirect
        edges_of_field = self.edges[near] = {}
        self.datasets[near] = dataset
        for (_, span), edges in contents:
            if is_causal:
                bound = span.last_ms if backward else -span.first_ms
            for far, far_dataset, direct in edges.get(near, ()):
                if not (direct or indirect):
                    continue
                edge = edges_of_field.get(far)
                if edge is None:
                    edges_of_field[far] = Edge(direct, span)
                else:
                    edge.direct |= direct
                    edge.span = edge.span.union(span)
                if bound > self._bounds.get(far, _UNBOUNDED):
                    self._visit(far, far_dataset, near, bound)

    def _visit(self, far: int, dataset: int, near: int, bound: int) -> None:
        """Note a field for the next level, reached with a greater bound than before."""
        self.hops.setdefault(far, self._level)
        self._previous.setdefault(far, near)
        self.datasets[far] = dataset
        self.reached.add(far)
        self._bounds[far] = bound
        self._next.add(far)

    def _contents(self, dataset: int, bound: int) -> list[tuple[int, Span]]:
        key = dataset, bound
        contents = self._spans.get(key)
        if contents is None:
            window = self._query.window
            if self._query.backward:
                window = Window(window.start_ms, bound + 1)
            else:
                window = Window(-bound, window.stop_ms)
            contents = self._tables.spans(dataset, window, backward=self._query.backward)
            self._spans[key] = contents
        return contents
