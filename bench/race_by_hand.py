"""Answers about lineage from tables made by hand: what an engineer writes in an afternoon."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from bench.race_walk import FieldName, Span, Tables, Walk, WalkQuery
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Window

_FIELD = """
SELECT field.id, dataset.id FROM dataset JOIN field ON field.dataset = dataset.id
WHERE namespace = ? AND dataset.name = ? AND field.name = ?
"""
_READERS = """
SELECT run, namespace, application, version, type, program.program, start, state, failed, checksum
FROM field_content CROSS JOIN run USING (content)
    JOIN program ON program.id = run.program JOIN content ON content.id = content
WHERE field = ? AND written = 0 AND start >= ? AND start < ?
ORDER BY start DESC
"""
_WAYS = """
SELECT way, operations, runs,
    (SELECT run FROM run WHERE content = counted.content AND start = last AND NOT failed LIMIT 1),
    (SELECT run FROM run WHERE content = counted.content AND start = first AND NOT failed LIMIT 1), first
FROM (
    SELECT content, way, operations, count(*) AS runs, min(start) AS first, max(start) AS last
    FROM field_content CROSS JOIN run USING (content)
    WHERE field = ? AND written = 1 AND start >= ? AND start < ? AND NOT failed
    GROUP BY content
) AS counted ORDER BY last DESC
"""
_DIFFERENT = """
SELECT DISTINCT name FROM (
    SELECT field.name, max(newer) AS newer, max(older) AS older
    FROM (
        SELECT content,
            EXISTS (SELECT 1 FROM run WHERE run.content = written.content
                    AND start >= ? AND start < ? AND NOT failed) AS newer,
            EXISTS (SELECT 1 FROM run WHERE run.content = written.content
                    AND start >= ? AND start < ? AND NOT failed) AS older
        FROM dataset_content AS written WHERE dataset = ? AND written.written = 1
    ) AS contents
        CROSS JOIN field_content USING (content) JOIN field ON field.id = field_content.field
    WHERE written = 1 AND dataset = ? AND newer + older > 0
    GROUP BY field.id, way
) WHERE newer != older
"""


class ReachRows(NamedTuple):
    """Fields with their hops, and edges: source, destination, whether it is direct, and its runs."""

    fields: list[tuple[FieldName, int]]
    edges: list[tuple[FieldName, FieldName, bool, Span]]


class DerivedRow(NamedTuple):
    """A field made from another one, whether direct edges alone lead there, and the last edge to it."""

    name: FieldName
    hops: int
    direct: bool
    dropped: bool
    span: Span
    path: list[FieldName]


class RunRow(NamedTuple):
    """A run that read a field."""

    run: str
    namespace: str
    application: str
    version: str
    type: str
    program: str
    start_ms: int
    state: str
    failed: bool
    checksum: str


class ProgramRow(NamedTuple):
    """A program that read a field: its runs without failed ones, and how many failed."""

    program: tuple[str, str, str, str]
    failed: int
    span: Span


class ConsumptionRows(NamedTuple):
    """The parts of a consumption report."""

    runs: list[RunRow]
    programs: list[ProgramRow]
    derived: list[DerivedRow]
    dropped: bool


class WayRow(NamedTuple):
    """A way to make a field: its operations as JSON, and its runs: how many, the newest and the oldest."""

    operations: str
    runs: int
    last_run: str
    first_run: str


class ByHand:
    """Answers questions from the tables of one database; windows are in milliseconds since 1970.

    With `caches_graph`, names and edges that were read stay in memory for the next question.
    """

    def __init__(self, connection: sqlite3.Connection, *, caches_graph: bool = False) -> None:
        self._connection = connection
        self._tables = Tables(connection, caches=caches_graph)

    def reach(self, field: DatasetField, window: Window, *, level: int, causal: bool) -> ReachRows:
        """Return the fields that lead to a field, with their edges and the runs of the edges."""
        walk = Walk(self._tables, WalkQuery(*self._find(field), window, backward=True, causal=causal), {})
        walk.run(level)
        name = self._tables.name
        edges = [
            (name(source), name(destination), edge.direct, edge.span)
            for destination, sources in walk.edges.items()
            for source, edge in sources.items()
        ]
        ends = {end for to, sources in walk.edges.items() if sources for end in (to, *sources)}
        hops = {end: walk.hops[end] for end in ends} | {walk.start: 0}
        return ReachRows([(name(end), count) for end, count in hops.items()], edges)

    def consumption(self, field: DatasetField, window: Window) -> ConsumptionRows:
        """Return the runs and programs that read a field, and the fields that were made from it."""
        number, dataset = self._find(field)
        bounds = number, window.start_ms, window.stop_ms
        runs = [RunRow(*row) for row in self._connection.execute(_READERS, bounds)]
        query = WalkQuery(number, dataset, window, backward=False, causal=True)
        spans: dict[tuple[int, int], list[tuple[int, Span]]] = {}
        walk, direct = (Walk(self._tables, item, spans) for item in (query, query._replace(indirect=False)))
        walk.run(None)
        direct.run(None)
        derived = list(self._derived(walk, direct))
        return ConsumptionRows(runs, _programs(runs), derived, number in walk.dropped)

    def derivations(self, field: DatasetField, window: Window) -> list[WayRow]:
        """Return the ways in which a field was produced, beginning with the newest run."""
        ways: dict[str, WayRow] = {}
        oldest: dict[str, int] = {}
        bounds = self._find(field)[0], window.start_ms, window.stop_ms
        # Several contents may make the field in one way.
        for way, operations, runs, last_run, first_run, first_ms in self._connection.execute(_WAYS, bounds):
            row = ways.get(way)
            if row is None:
                ways[way] = WayRow(operations, runs, last_run, first_run)
                oldest[way] = first_ms
                continue
            ways[way] = row._replace(runs=row.runs + runs)
            if first_ms < oldest[way]:
                oldest[way] = first_ms
                ways[way] = ways[way]._replace(first_run=first_run)
        return list(ways.values())

    def diff(self, dataset: Dataset, window: Window, base: Window) -> set[str]:
        """Return the fields of a dataset that were not made in the same ways in two windows."""
        query = "SELECT id FROM dataset WHERE namespace = ? AND name = ?"
        (number,) = self._connection.execute(query, (dataset.namespace, dataset.name)).fetchone()
        bounds = window.start_ms, window.stop_ms, base.start_ms, base.stop_ms
        return {name for (name,) in self._connection.execute(_DIFFERENT, (*bounds, number, number))}

    def _find(self, field: DatasetField) -> tuple[int, int]:
        """Return a field and its dataset. Raises TypeError for one that is not in the tables."""
        names = field.dataset.namespace, field.dataset.name, field.name
        number, dataset = self._connection.execute(_FIELD, names).fetchone()
        return number, dataset

    def _derived(self, walk: Walk, direct: Walk) -> Iterator[DerivedRow]:
        name = self._tables.name
        last = self._last_spans(walk)
        for field in walk.reached - {walk.start}:
            is_direct = field in direct.reached
            path = (direct if is_direct else walk).path(field)
            # A field is as near as its dataset as a whole.
            star = self._tables.whole_dataset(walk.datasets[field])
            hops = min(walk.hops[field], walk.hops.get(star, walk.hops[field]))
            is_dropped = field in walk.dropped
            yield DerivedRow(name(field), hops, is_direct, is_dropped, last[field], list(map(name, path)))

    def _last_spans(self, walk: Walk) -> dict[int, Span]:
        """Return for each field the runs of the edge to it that ran last."""
        last: dict[int, tuple[int, int, FieldName, Span]] = {}
        for near, edges in walk.edges.items():
            name = self._tables.name(near)
            for field, edge in edges.items():
                # Ties are broken by the number of runs, and then by the name.
                ranked = edge.span.last_ms, edge.span.runs, name, edge.span
                last[field] = max(ranked, last.get(field, ranked))
        return {field: span for field, (*_, span) in last.items()}


def _programs(runs: list[RunRow]) -> list[ProgramRow]:
    """Return the programs of runs, which are the newest first."""
    by_program: dict[tuple[str, str, str, str], list[RunRow]] = {}
    for run in runs:
        key = run.namespace, run.application, run.program, run.type
        by_program.setdefault(key, []).append(run)
    rows = []
    for program, listed in by_program.items():
        complete = [run for run in listed if not run.failed]
        if complete:
            span = Span(len(complete), complete[-1].start_ms, complete[0].start_ms, complete[0].run)
            rows.append(ProgramRow(program, len(listed) - len(complete), span))
    return rows
