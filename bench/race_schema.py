"""Tables for lineage as an engineer makes them by hand in SQLite: edges of contents, and runs of contents."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fll_hbase.model import field_relations
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.derivation_parts import field_digest
from fll_hbase.model.field_relations import operations_into
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, Operation, Read, inputs_of, outputs_of
from fll_hbase.model.runs import ProgramRun, RecordedRun

_SCHEMA = """
CREATE TABLE dataset (id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL);
CREATE UNIQUE INDEX dataset_name ON dataset (namespace, name);
-- The dataset as a whole is a field, `*`.
CREATE TABLE field (id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, name TEXT NOT NULL);
CREATE UNIQUE INDEX field_name ON field (dataset, name);
CREATE TABLE program (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, application TEXT NOT NULL, version TEXT NOT NULL,
    type TEXT NOT NULL, program TEXT NOT NULL
);
CREATE TABLE content (id INTEGER PRIMARY KEY, checksum TEXT NOT NULL UNIQUE);
CREATE TABLE dataset_content (
    dataset INTEGER NOT NULL, written INTEGER NOT NULL, content INTEGER NOT NULL,
    PRIMARY KEY (dataset, written, content)
) WITHOUT ROWID;
-- Of a field that a content writes also the way that it does so, with the operations as JSON.
CREATE TABLE field_content (
    field INTEGER NOT NULL, written INTEGER NOT NULL, content INTEGER NOT NULL, way TEXT, operations TEXT,
    PRIMARY KEY (field, written, content)
) WITHOUT ROWID;
CREATE INDEX content_way ON field_content (content, written, field, way);
CREATE TABLE content_edge (
    content INTEGER NOT NULL, source INTEGER NOT NULL, destination INTEGER NOT NULL, direct INTEGER NOT NULL,
    PRIMARY KEY (content, source, destination)
) WITHOUT ROWID;
CREATE TABLE dropped_field (
    content INTEGER NOT NULL, field INTEGER NOT NULL, PRIMARY KEY (content, field)
) WITHOUT ROWID;
-- Whether a content ran in a window, how often, first and last: one range of neighbours.
CREATE TABLE run (
    content INTEGER NOT NULL, start INTEGER NOT NULL, run TEXT NOT NULL, failed INTEGER NOT NULL,
    state TEXT NOT NULL, program INTEGER NOT NULL, PRIMARY KEY (content, start, run)
) WITHOUT ROWID;
"""

_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-65536", f"mmap_size={2**34}")


def connect(path: Path) -> sqlite3.Connection:
    """Open a database; the caller closes it and begins transactions itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


class Recorder:
    """Records runs into an empty database, with the edges of each distinct content once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Create the tables."""
        self._connection = connection
        connection.executescript(_SCHEMA)
        self._datasets: dict[Dataset, int] = {}
        self._fields: dict[DatasetField, int] = {}
        self._programs: dict[tuple[str, ...], int] = {}
        self._contents: dict[str, int] = {}

    def record(self, runs: Iterable[RecordedRun]) -> None:
        """Record runs in one transaction."""
        self._connection.execute("BEGIN")
        rows = [
            (
                self._content(recorded.info),
                recorded.run.start_ms,
                recorded.run.run,
                recorded.run.state.failed,
                recorded.run.state.value,
                self._program(recorded.run),
            )
            for recorded in runs
        ]
        self._insert("run", rows)
        self._connection.execute("COMMIT")

    def finish(self) -> None:
        """Let SQLite count the rows of each index, for its query planner."""
        self._connection.execute("ANALYZE")

    def _content(self, info: FieldLineageInfo) -> int:
        number = self._contents.get(info.checksum)
        if number is None:
            number = self._contents[info.checksum] = len(self._contents) + 1
            self._insert("content", [(number, info.checksum)])
            self._add_ends(number, info)
            self._add_edges(number, info)
        return number

    def _add_ends(self, number: int, info: FieldLineageInfo) -> None:
        """Add the datasets and fields that a content reads and writes."""
        self._insert("dataset_content", [(self._dataset(source), 0, number) for source in info.sources])
        self._insert("dataset_content", [(self._dataset(to), 1, number) for to in info.destinations])
        read = [(self._field(field), 0, number, None, None) for field in info.field_map.fields]
        self._insert("field_content", read)
        written = {
            DatasetField(edge.destination, edge.destination_field)
            for edge in field_relations.iter_edges(info.field_map)
            if edge.destination is not None and edge.destination_field is not None
        }
        self._insert(
            "field_content",
            [(self._field(field), 1, number, *_way(info.operations, field)) for field in written],
        )

    def _add_edges(self, number: int, info: FieldLineageInfo) -> None:
        """Add the edges of a content. An edge that is direct and indirect counts as direct."""
        edges: dict[tuple[int, int], bool] = {}
        dropped = set()
        for edge in field_relations.iter_edges(info.field_map):
            if edge.source is None or edge.source_field is None:
                continue
            source = self._field(DatasetField(edge.source, edge.source_field))
            if edge.destination is None:
                dropped.add(source)
                continue
            name = edge.destination_field or WHOLE_DATASET
            ends = source, self._field(DatasetField(edge.destination, name))
            edges[ends] = edges.get(ends, False) or edge.influence is Influence.DIRECT
        self._insert("content_edge", [(number, *ends, direct) for ends, direct in edges.items()])
        self._insert("dropped_field", [(number, field) for field in dropped])

    def _dataset(self, dataset: Dataset) -> int:
        number = self._datasets.get(dataset)
        if number is None:
            number = self._datasets[dataset] = len(self._datasets) + 1
            self._insert("dataset", [(number, dataset.namespace, dataset.name)])
            self._field(DatasetField(dataset, WHOLE_DATASET))
        return number

    def _field(self, field: DatasetField) -> int:
        number = self._fields.get(field)
        if number is None:
            dataset = self._dataset(field.dataset)
            # The dataset as a whole may have been added with it.
            number = self._fields.setdefault(field, len(self._fields) + 1)
            self._insert("field", [(number, dataset, field.name)])
        return number

    def _program(self, run: ProgramRun) -> int:
        key = run.namespace, run.application, run.version, run.type, run.program
        number = self._programs.get(key)
        if number is None:
            number = self._programs[key] = len(self._programs) + 1
            self._insert("program", [(number, *key)])
        return number

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _way(operations: Sequence[Operation], field: DatasetField) -> tuple[str, str]:
    """Return the digest of the way in which operations derive a field, and these operations as JSON."""
    steps = list(_steps(operations_into(operations, field)))
    return field_digest(operations, field, indirect=True), json.dumps(steps)


def _steps(operations: Iterable[Operation]) -> Iterator[dict[str, object]]:
    for operation in operations:
        if isinstance(operation, Read):
            inputs = [operation.source.name]
        else:
            inputs = [field.name for field in inputs_of(operation)]
        yield {
            "name": operation.name,
            "description": operation.description,
            "inputs": inputs,
            "outputs": [output.name for output in outputs_of(operation)],
        }
