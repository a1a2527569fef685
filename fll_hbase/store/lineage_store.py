"""The lineage store: records runs into a table and answers queries over windows of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, repeat

from fll_hbase import deadline
from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.errors import LineageError, NotFound
from fll_hbase.keys import layout
from fll_hbase.model import simple_view, topology
from fll_hbase.model.dataset_lineage import DatasetLineageSet, merge_lineages
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction, Window
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.components import build_components
from fll_hbase.store.read.content_cache import (
    Content,
    ContentMissing,
    FieldOfContent,
    retry_on_missing_content,
)
from fll_hbase.store.read.field_graphs import FieldGraphReader
from fll_hbase.store.read.traversal import HopLineage, WalkLimits, sort_entries, walk
from fll_hbase.store.read.window_query import WindowQuery, reference_tail_of
from fll_hbase.store.results import (
    DatasetLineageResult,
    Derivation,
    Derivations,
    FieldLineageResult,
    ListedRun,
    RunDetails,
    RunsPage,
)
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.batching import RunInput
from fll_hbase.store.write.group_commit import GroupCommit
from fll_hbase.store.write.pending_run import CommitResult
from fll_hbase.tables import Table

BATCH_RUNS = 1000
"""References of one page when runs are listed."""

DATASETS_PER_READ = 128
"""Datasets of one hop that are read together: on HBase 32 on each of four connections."""

BOTH = (Direction.BACKWARD, Direction.FORWARD)
"""Both directions, in the order of answers."""


class LineageStore:
    """Records and queries field lineage in a table. Threads may share it.

    Queries raise NotFound for datasets and fields that were never recorded, StoreUnavailable when the table
    does not answer, and CorruptRow for rows that cannot be read: no stored lineage is left out silently. If a
    limit of the settings cuts a result, its `truncated_by` contains that limit. At the deadline of a request
    they raise DeadlineExceeded, but queries of lineage return what they found so far, truncated, if they
    found anything.
    """

    def __init__(
        self, table: Table, settings: Settings | None = None, *, clock: Callable[[], int] = now_ms
    ) -> None:
        self._table = table
        self._settings = settings or Settings()
        self._components = build_components(table, self._settings, clock=clock)
        self._contents = self._components.contents
        self._windows = self._components.windows
        self._field_graphs = FieldGraphReader(self._windows, self._contents, self._settings)
        self._group_commit = GroupCommit(self._components.committer.record)
        self.catalogue = self._components.catalogue

    def record(self, runs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record runs, or events of runs, in order. Returns one result each, durable when this returns.

        A run whose result is an error is not visible to queries. Raises StoreUnavailable: then any of them
        may be stored, and sending all of them again is safe.
        """
        return self._components.committer.record(runs)

    def record_one(self, run: RunInput) -> CommitResult:
        """Record one run or event in a commit shared with other threads; durable when this returns.

        Raises ChecksumConflict or TooLarge for input that cannot be stored, and StoreUnavailable as `record`.
        """
        return self._group_commit.record(run)

    def recommit(self, runs: Sequence[str]) -> dict[str, LineageError]:
        """Write index rows, references and commit records of run ids again, computed from their run rows.

        Returns the error of each run where that is impossible. Raises StoreUnavailable; repeating is safe.
        """
        return self._components.committer.recommit(runs)

    def put_metadata(self, metadata: Iterable[DatasetMetadata]) -> None:
        """Put metadata that is recorded without a run into the catalogue; durable when this returns."""
        puts = run_rows.last_put_per_cell(
            put for dataset in metadata for put in content_rows.metadata_puts(dataset)
        )
        if puts:
            self._table.write([puts])

    @retry_on_missing_content
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
        """Return field lineage between datasets, up to `level` hops from `dataset` in each direction.

        Merged over the runs that start in the window; failed and aborted ones count if `failed` is set.
        Without `indirect`, inputs that only decided about rows (filters, join keys) are left out. Empty for a
        known dataset without lineage in the window; raises NotFound for one that was never recorded.
        """
        limits = WalkLimits(level, self._settings.level_max, self._settings.pairs_max)
        results = []
        for direction in directions:
            one_hop = partial(self._hop, direction=direction, window=window, indirect=indirect, failed=failed)
            results.append(walk(one_hop, dataset, direction=direction, limits=limits))
        # Only an empty answer reads the catalogue, to distinguish no lineage from an unknown name.
        entries = sort_entries(entry for result in results for entry in result.entries)
        if not entries:
            deadline.check()
            self._require_known(dataset)
        truncated_by = {limit for result in results for limit in result.truncated_by}
        return DatasetLineageResult(entries, tuple(sorted(truncated_by)))

    @retry_on_missing_content
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
        """Return the operations that produce the field (backward) or use it (forward), one hop.

        `simple` reduces the graph to sources, targets and the operations between each pair; the other
        arguments and NotFound are as in `lineage`.
        """
        query = WindowQuery(direction, field.dataset, window, failed)
        result = self._field_graphs.merged(query, field.name, simple=simple, indirect=indirect)
        if not result.checksums:
            self._require_known_field(field)
        return result

    @retry_on_missing_content
    def field_derivations(self, field: DatasetField, window: Window, *, failed: bool = False) -> Derivations:
        """Return every distinct derivation of the field, with the ids of the runs that used it.

        A derivation is the operations that lead into the field. Runs are newest first; those of the window
        count, failed and aborted ones only with `failed`. Without any for a known field that no run wrote.
        """
        runs: dict[simple_view.DerivationSignature, list[str]] = {}
        operations: dict[simple_view.DerivationSignature, tuple[Operation, ...]] = {}
        truncated_by: set[str] = set()
        derived = self._derived_runs(field, window, failed=failed, truncated_by=truncated_by)
        for run, signature, steps in deadline.until_over(derived, truncated_by=truncated_by):
            operations.setdefault(signature, steps)
            runs.setdefault(signature, []).append(run)
        if not runs:
            self._require_known_field(field)
        derivations = (Derivation(operations[key], tuple(run_ids)) for key, run_ids in runs.items())
        return Derivations(tuple(derivations), tuple(sorted(truncated_by)))

    @retry_on_missing_content
    def runs(self, dataset: Dataset, window: Window, *, limit: int, start_after: bytes = b"") -> RunsPage:
        """Return at most `limit` runs of the window that read or wrote the dataset, including failed ones.

        Newest first, after the reference tail `start_after`, which is the `next_after` of the previous page
        and b"" for the first one. Raises NotFound for an empty page of a dataset that was never recorded.
        """
        references = heapq.merge(
            *(
                self._runs_by_tail(WindowQuery(direction, name, window, True), start_after, limit)
                for name in self.catalogue.names(dataset)
                for direction in BOTH
            ),
            key=lambda item: item[0],
        )
        listed: list[ListedRun] = []
        last_tail = b""
        # A run that read and wrote the dataset, or used several of its names, has several references.
        for tail, group in groupby(references, key=lambda item: item[0]):
            if len(listed) == limit:
                return RunsPage(tuple(listed), last_tail)
            matches = list(group)
            committed = matches[0][1]
            directions = frozenset(direction for _, _, direction in matches)
            listed.append(ListedRun(committed.run, committed.checksum, directions))
            last_tail = tail
        if not listed:
            self._require_known(dataset)
        return RunsPage(tuple(listed), b"")

    def run(self, run: str) -> RunDetails:
        """Return the committed state of one run by its id. Raises NotFound."""
        details = self._components.events.run_details([run]).get(run)
        if details is None:
            raise NotFound(f"run {run!r} not found; list the runs of a dataset to see their ids")
        return details

    @retry_on_missing_content
    def run_with_content(self, run: str) -> tuple[RunDetails, Content]:
        """Return the committed state of one run, with its content. Raises NotFound."""
        details = self.run(run)
        return details, self._contents.content(details.committed.checksum)

    def content(self, checksum: str) -> Content:
        """Return a content by its checksum. Raises NotFound, also for one that no run has any more."""
        try:
            return self._contents.content(checksum)
        except ContentMissing as error:
            raise NotFound(f"content {checksum} not found; GET /v3/runs/<run> names that of a run") from error

    @retry_on_missing_content
    def run_details(self, page: RunsPage) -> list[tuple[RunDetails, Content]]:
        """Return the details and the content of each run of a page, in its order.

        A run that was purged since the page was read is left out.
        """
        details = self._components.events.run_details([listed.run.run for listed in page.runs])
        present = [details[listed.run.run] for listed in page.runs if listed.run.run in details]
        return [(run, self._contents.content(run.committed.checksum)) for run in present]

    def ready(self) -> None:
        """Raise StoreUnavailable unless the table answers a read."""
        self._table.get(layout.DATASETS)

    def close(self) -> None:
        """Close the table."""
        self._table.close()

    def _hop(
        self,
        datasets: Sequence[Dataset],
        *,
        direction: Direction,
        window: Window,
        indirect: bool,
        failed: bool,
    ) -> Iterator[HopLineage]:
        """Yield the lineage of datasets under all their names, of several names of one only for the first."""
        seen: set[Dataset] = set()
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            chunk = datasets[begin : begin + DATASETS_PER_READ]
            queries = [WindowQuery(direction, name, window, failed) for name in chunk if name not in seen]
            for query, by_name in zip(queries, self._windows.checksums_by_name(queries), strict=True):
                if query.dataset not in seen:
                    seen |= by_name.keys()
                    # Here, because a hop whose contents are all cached never waits for the store.
                    deadline.check()
                    yield HopLineage(by_name.keys(), self._relations(query, by_name, indirect=indirect))

    def _relations(
        self, query: WindowQuery, by_name: Mapping[Dataset, frozenset[str]], *, indirect: bool
    ) -> DatasetLineageSet:
        """Return the lineage of a dataset from its contents by name; its aliases are renamed to it."""
        # Renamed to the name in the query, so that the graph over several hops stays connected (decision 13).
        relations = merge_lineages(
            [
                self._contents.relations(checksums, query.direction, name).rename(name, query.dataset)
                for name, checksums in by_name.items()
            ]
        )
        return relations if indirect else relations.without_indirect()

    def _derived_runs(
        self, field: DatasetField, window: Window, *, failed: bool, truncated_by: set[str]
    ) -> Iterator[tuple[str, simple_view.DerivationSignature, tuple[Operation, ...]]]:
        """Yield runs that wrote the field, newest first, with the signature and operations of its derivation.

        Ends after `runs_max` runs, and adds this limit, if there are more.
        """
        derivations: dict[FieldOfContent, tuple[simple_view.DerivationSignature, tuple[Operation, ...]]] = {}
        writers = self._writers(self.catalogue.names(field.dataset), window, failed=failed)
        for number, (committed, name) in enumerate(writers):
            if number == self._settings.runs_max:
                truncated_by.add(f"runs_max={self._settings.runs_max}")
                return
            content = FieldOfContent(committed.checksum, DatasetField(name, field.name))
            # Many runs share a content, so its derivation is computed once and not for each run.
            if content not in derivations:
                # Here, because contents that are all cached never wait for the store.
                deadline.check()
                derivations[content] = self._derivation(content)
            signature, steps = derivations[content]
            if steps:
                yield committed.run.run, signature, steps

    def _derivation(
        self, content: FieldOfContent
    ) -> tuple[simple_view.DerivationSignature, tuple[Operation, ...]]:
        """Return signature and sorted operations of the field in a content; no operations if it lacks it."""
        operations = self._contents.operations(content, Direction.BACKWARD)
        if not operations:
            return frozenset(), ()
        by_name = self._contents.all_operations(content.checksum)
        steps = topology.sort_operations([by_name[operation.name] for operation in operations])
        return simple_view.derivation_signature(operations, content.field), steps

    def _writers(
        self, names: Sequence[Dataset], window: Window, *, failed: bool
    ) -> Iterator[tuple[CommittedRun, Dataset]]:
        """Iterate over the runs that wrote a dataset, newest first, each with the name that it wrote to."""
        runs_by_name = (
            zip(self._windows.runs(query, batch_size=BATCH_RUNS), repeat(query.dataset))
            for query in (WindowQuery(Direction.BACKWARD, name, window, failed) for name in names)
        )
        return heapq.merge(*runs_by_name, key=lambda item: reference_tail_of(item[0]))

    def _runs_by_tail(
        self, query: WindowQuery, start_after: bytes, limit: int
    ) -> Iterator[tuple[bytes, CommittedRun, Direction]]:
        # One more than the page has, which shows whether there is a next page without a second scan.
        batch_size = min(limit + 1, BATCH_RUNS)
        for committed in self._windows.runs(query, start_after=start_after, batch_size=batch_size):
            yield reference_tail_of(committed), committed, query.direction

    def _require_known(self, dataset: Dataset) -> None:
        if not self.catalogue.has_dataset(dataset):
            raise NotFound(
                f"dataset {dataset} not found: no recorded run read or wrote it; search for its name"
            )

    def _require_known_field(self, field: DatasetField) -> None:
        names = self.catalogue.field_names(field.dataset)
        if names is None:
            self._require_known(field.dataset)
        elif field.name not in names:
            raise NotFound(
                f"field {field.name!r} of {field.dataset} not found: no recorded run read or wrote it"
            )
