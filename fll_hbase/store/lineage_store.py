"""The store: record runs, and ask about any window. Everything above goes through here."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import groupby, repeat
from typing import ParamSpec, TypeVar

from fll_hbase.clock import now_ms
from fll_hbase.errors import LineageError, NotFound
from fll_hbase.keys import layout
from fll_hbase.model import operation_graph, simple_view, topology
from fll_hbase.model.dataset_metadata import DatasetMetadata
from fll_hbase.model.field_map import DatasetLineageSet
from fll_hbase.model.operation_graph import OperationGraph
from fll_hbase.model.operations import Dataset, DatasetField, Operation
from fll_hbase.model.runs import Direction, ProgramRun, Window
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import Content, ContentCache, ContentMissing
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.traversal import LineageEntry, DatasetLineageResult, in_order, walk
from fll_hbase.store.read.window_query import WindowQuery, WindowReader, reference_tail_of
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.commit import CommitResult, RunCommitter, RunDetails, RunInput
from fll_hbase.store.write.group_commit import GroupCommit
from fll_hbase.tables import Table

P = ParamSpec("P")
A = TypeVar("A")

BATCH_RUNS = 1000
TRIES_MAX = 3
LAST = b"~"
"""Beyond every place in a window."""

BOTH = (Direction.BACKWARD, Direction.FORWARD)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep one answer, and one process, in measure."""

    level_max: int = 32
    pairs_max: int = 250_000
    connections_max: int = 50_000
    runs_max: int = 100_000
    cache_bytes: int = 256 * 2**20
    grace_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class FieldLineageResult:
    """The answer to a detailed question: one graph of all contents that touch the field."""

    graph: OperationGraph
    checksums: tuple[str, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One distinct way a field was made, and the runs that made it so, newest first."""

    operations: tuple[Operation, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derivations:
    """All ways a field was made, newest first."""

    derivations: tuple[Derivation, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run that touched an end point; wrote it (backward), read it (forward), or both."""

    run: ProgramRun
    checksum: str
    directions: frozenset[Direction]


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs newest first; `after` is what the next page begins beyond, empty at the end."""

    runs: tuple[ListedRun, ...]
    next_after: bytes


def _asked_again(question: Callable[P, A]) -> Callable[P, A]:
    """The question, asked again where a sweep took what it had just found; what stays gone is corrupt."""

    @wraps(question)
    def ask(*args: P.args, **said: P.kwargs) -> A:
        for _ in range(TRIES_MAX - 1):
            try:
                return question(*args, **said)
            except ContentMissing:
                continue
        return question(*args, **said)

    return ask


class LineageStore:
    """Field lineage in a table. Threads may share it.

    Questions raise NotFound for what no run ever named, StoreUnavailable when the table does not answer, and
    CorruptRow for rows that cannot be read. Nothing is ever left out without a word.
    """

    def __init__(
        self, table: Table, *, limits: Limits | None = None, clock: Callable[[], int] | None = None
    ) -> None:
        limits = limits or Limits()
        clock = clock or now_ms
        self._table = table
        self._limits = limits
        self._contents = ContentCache(table, cache_bytes=limits.cache_bytes, pairs_max=limits.pairs_max)
        folds = EventMerger(table)
        self._recording = RunCommitter(table, folds, clock=clock, grace_ms=limits.grace_ms)
        self._gathering = GroupCommit(self._recording.record)
        self._windows = WindowReader(table, self._contents, folds, clock=clock, grace_ms=limits.grace_ms)
        self.catalogue = Catalogue(table)

    def record(self, runs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record runs, or events that tell of runs, in order; one answer for each, durable when this returns.

        Raises StoreUnavailable: then any of them may have landed, and sending all again is safe.
        """
        return self._recording.record(runs)

    def record_one(self, run: RunInput) -> CommitResult:
        """Record one run or event, together with those of other threads; durable when this returns.

        Raises ChecksumConflict or TooLarge for what cannot be stored, and StoreUnavailable as `record` does.
        """
        return self._gathering.record(run)

    def recommit(self, runs: Sequence[str]) -> dict[str, LineageError]:
        """Make what is stored of runs true once more: hints and truths. Returns why some cannot be.

        Raises StoreUnavailable: doing it again is safe.
        """
        return self._recording.recommit(runs)

    def put_metadata(self, schemas: Iterable[DatasetMetadata]) -> None:
        """Put what is known of end points without any run into the catalogue; durable when this returns."""
        puts = run_rows.last_put_per_cell(put for schema in schemas for put in content_rows.metadata_puts(schema))
        if puts:
            self._table.write([puts])

    @_asked_again
    def lineage(
        self,
        dataset: Dataset,
        window: Window,
        *,
        directions: Sequence[Direction] = BOTH,
        level: int = 1,
        indirect: bool = True,
        failed: bool = False,
    ) -> DatasetLineageResult:
        """Which fields of which end points made which, `level` hops each way."""
        entries: list[LineageEntry] = []
        truncated: set[str] = set()
        for direction in directions:

            def ask(
                asked_of: Dataset, others: Sequence[Dataset], direction: Direction = direction
            ) -> DatasetLineageSet:
                found = self._relations(WindowQuery(direction, asked_of, window, failed))
                for other in others:
                    said = self._relations(WindowQuery(direction, other, window, failed))
                    found = found.merge(said.rename(other, asked_of))
                return found if indirect else found.without_indirect()

            answer = walk(
                ask,
                dataset,
                direction,
                aliases=self.catalogue.aliases,
                level=level,
                level_max=self._limits.level_max,
                pairs_max=self._limits.pairs_max,
            )
            entries += answer.entries
            truncated.update(answer.truncated_by)
        if not entries:
            self._must_know(dataset)
        return DatasetLineageResult(in_order(entries), tuple(sorted(truncated)))

    @_asked_again
    def field_lineage(
        self,
        field: DatasetField,
        window: Window,
        *,
        direction: Direction = Direction.BACKWARD,
        simple: bool = False,
        indirect: bool = True,
        failed: bool = False,
    ) -> FieldLineageResult:
        """By which operations the field was made, or what was made of it: one level."""
        graphs: dict[str, list[OperationGraph]] = {}
        places: dict[str, bytes] = {}
        asked_of = [WindowQuery(direction, name, window, failed) for name in self.catalogue.names(field.dataset)]
        for asked in asked_of:
            of = DatasetField(asked.dataset, field.name)
            touching = {
                checksum: operations
                for checksum in self._windows.checksums(asked)
                if (operations := self._contents.operations(checksum, direction, of))
            }
            for checksum, operations in touching.items():
                found = self._graph(operations, of, direction, simple=simple, indirect=indirect)
                graphs.setdefault(checksum, []).append(found)
            if len(touching) > 1 or len(asked_of) > 1:
                for checksum, place in self._windows.newest_references(asked, touching).items():
                    places[checksum] = min(place, places.get(checksum, place))
        if not graphs:
            self._must_know_field(field)
        checksums = sorted(graphs, key=lambda checksum: (places.get(checksum, LAST), checksum))
        merged = operation_graph.merge(
            [(checksum, found) for checksum in checksums for found in graphs[checksum]]
        )
        bound = f"connections_max={self._limits.connections_max}"
        return FieldLineageResult(merged, tuple(checksums), (bound,) if merged.truncated else ())

    @_asked_again
    def field_derivations(self, field: DatasetField, window: Window, *, failed: bool = False) -> Derivations:
        """Every distinct way the field was made, with the runs that made it so."""
        names = self.catalogue.names(field.dataset)
        runs: dict[simple_view.DerivationSignature, list[str]] = {}
        newest: dict[simple_view.DerivationSignature, list[Operation]] = {}
        signatures: dict[str, simple_view.DerivationSignature | None] = {}
        truncated: tuple[str, ...] = ()
        for number, (truth, name) in enumerate(self._writers(names, window, failed=failed)):
            if number == self._limits.runs_max:
                truncated = (f"runs_max={self._limits.runs_max}",)
                break
            if truth.checksum not in signatures:
                of = DatasetField(name, field.name)
                operations = self._contents.operations(truth.checksum, Direction.BACKWARD, of)
                found = simple_view.derivation_signature(operations, of) if operations else None
                signatures[truth.checksum] = found
                if found is not None:
                    every = self._contents.all_operations(truth.checksum)
                    newest.setdefault(found, [every[operation.name] for operation in operations])
            signature = signatures[truth.checksum]
            if signature is not None:
                runs.setdefault(signature, []).append(truth.run.run)
        if not runs:
            self._must_know_field(field)
        return Derivations(
            tuple(Derivation(topology.sort_operations(newest[key]), tuple(found)) for key, found in runs.items()),
            truncated,
        )

    @_asked_again
    def runs(self, dataset: Dataset, window: Window, *, limit: int, start_after: bytes = b"") -> RunsPage:
        """Every run of the window that touched the end point, failed ones too, newest first."""
        touched = heapq.merge(
            *(
                self._placed(WindowQuery(direction, name, window, True), start_after, limit)
                for name in self.catalogue.names(dataset)
                for direction in BOTH
            ),
            key=lambda item: item[0],
        )
        listed: list[tuple[bytes, ListedRun]] = []
        start_after = b""
        for place, same in groupby(touched, key=lambda item: item[0]):
            if len(listed) == limit:
                start_after = listed[-1][0]
                break
            items = list(same)
            directions = frozenset(direction for _, _, direction in items)
            truth = items[0][1]
            listed.append((place, ListedRun(truth.run, truth.checksum, directions)))
        if not listed:
            self._must_know(dataset)
        return RunsPage(tuple(run for _, run in listed), start_after)

    def run(self, run: str) -> RunDetails:
        """What was told of one run, whatever it read or wrote. Raises NotFound."""
        found = self._recording.run_details([run]).get(run)
        if found is None:
            raise NotFound(f"no run {run!r} was ever recorded; the runs of an end point are listed there")
        return found

    @_asked_again
    def run_details(self, page: RunsPage) -> list[tuple[RunDetails, Content]]:
        """What was told of the runs of a page, each with its content, in the order of the page."""
        told = self._recording.run_details([listed.run.run for listed in page.runs])
        found = [told[listed.run.run] for listed in page.runs if listed.run.run in told]
        return [(one, self._contents.content(one.committed.checksum)) for one in found]

    def ready(self) -> None:
        """Raises StoreUnavailable unless the table answers."""
        self._table.get(layout.END_POINTS)

    def close(self) -> None:
        """Close the table."""
        self._table.close()

    def _relations(self, asked: WindowQuery) -> DatasetLineageSet:
        checksums = self._windows.checksums(asked)
        return self._contents.relations(checksums, asked.direction, asked.dataset)

    def _writers(
        self, names: Sequence[Dataset], window: Window, *, failed: bool
    ) -> Iterator[tuple[CommittedRun, Dataset]]:
        """The runs that wrote an end point under any of its names, newest first, with that name."""
        found = (
            zip(self._windows.runs(asked, batch_size=BATCH_RUNS), repeat(asked.dataset))
            for asked in (WindowQuery(Direction.BACKWARD, name, window, failed) for name in names)
        )
        return heapq.merge(*found, key=lambda item: reference_tail_of(item[0]))

    def _placed(self, asked: WindowQuery, after: bytes, limit: int) -> Iterator[tuple[bytes, CommittedRun, Direction]]:
        batch = min(limit + 1, BATCH_RUNS)
        for truth in self._windows.runs(asked, start_after=after, batch_size=batch):
            yield reference_tail_of(truth), truth, asked.direction

    def _graph(
        self,
        operations: Sequence[Operation],
        field: DatasetField,
        direction: Direction,
        *,
        simple: bool,
        indirect: bool,
    ) -> OperationGraph:
        backward = direction is Direction.BACKWARD
        if simple:
            view = simple_view.upstream_simple_view if backward else simple_view.downstream_simple_view
            return view(operations, field, indirect=indirect)
        walked = operation_graph.upstream_graph if backward else operation_graph.downstream_graph
        return walked(operations, field, indirect=indirect, connections_max=self._limits.connections_max)

    def _must_know(self, end_point: Dataset) -> None:
        if not self.catalogue.has_dataset(end_point):
            raise NotFound(f"no run ever read or wrote {end_point}; a search finds names")

    def _must_know_field(self, field: DatasetField) -> None:
        fields = self.catalogue.fields(field.dataset)
        if fields is None:
            self._must_know(field.dataset)
        elif field.name not in {known.name for known in fields}:
            raise NotFound(f"no run ever read or wrote {field.name!r} of {field.dataset}")
