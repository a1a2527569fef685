"""The lineage store: records runs into a table and answers queries over windows of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.runs import RecordedRun, RunKey
from fll_hbase.model.window import Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import AmbiguousName, LineageError, NotFound, RunIdConflict
from fll_hbase.store.access import AccessStore
from fll_hbase.store.components import StoreComponents, build_components
from fll_hbase.store.policies import PolicyStore
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.catalogue import DatasetSummary
from fll_hbase.store.read.content_cache import Content, ContentMissing, retry_on_missing_content
from fll_hbase.store.read.content_programs import ContentProgramReader
from fll_hbase.store.read.dataset_diff import DatasetDiffReader, FieldDiffReader
from fll_hbase.store.read.field_derivations import DerivationReader
from fll_hbase.store.read.field_graphs import FieldGraphReader
from fll_hbase.store.read.field_history import FieldHistoryReader
from fll_hbase.store.read.field_programs import FieldProgramReader
from fll_hbase.store.read.field_summaries import FieldSummaryReader
from fll_hbase.store.read.field_writes import FieldWriteReader
from fll_hbase.store.read.forbidden_flows import FlowReader
from fll_hbase.store.read.hop_reader import HopReader
from fll_hbase.store.read.horizons import HorizonReader
from fll_hbase.store.read.namespace_runs import NamespaceRunReader
from fll_hbase.store.read.reach import ReachReader
from fll_hbase.store.read.retention_report import RetentionReporter
from fll_hbase.store.read.run_reader import RunBoundsReader, RunReader
from fll_hbase.store.read.traversal import DATASETS_PER_READ, DatasetLineageReader
from fll_hbase.store.results import CommitResult, RunBounds, RunDetails, RunsPage
from fll_hbase.store.retention_requests import RetentionRequests
from fll_hbase.store.rows import content_rows, run_rows
from fll_hbase.store.tags import TagStore
from fll_hbase.store.write import run_owner
from fll_hbase.store.write.batching import RunInput
from fll_hbase.store.write.group_commit import GroupCommit
from fll_hbase.tables import Table
from fll_hbase.tables.observed import counted

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_FirstReader: TypeAlias = Callable[[Sequence[WindowQuery]], Sequence[Mapping[Dataset, Collection[Any]]]]


def answered_by(
    reader: Callable[[StoreComponents], R], query: Callable[Concatenate[R, P], T]
) -> Callable[Concatenate[LineageStore, P], T]:
    """Return a store method that answers a query with a new reader, again if a content is missing."""

    @wraps(query)
    def answer(store: LineageStore, /, *args: P.args, **options: P.kwargs) -> T:
        """Return a new reader's answer to the query."""
        return query(reader(store.components), *args, **options)

    return retry_on_missing_content(answer)


class LineageStore:
    """Records and queries field lineage in a table. Threads may share it.

    Queries raise NotFound for datasets and fields that were never recorded, TooLarge for names too long for a
    row key, StoreUnavailable when the table does not answer, and CorruptRow for unreadable rows. No stored
    lineage is left out silently. If a limit of the settings cuts a result, its `truncated_by` contains that
    limit. At the deadline of a request, queries raise DeadlineExceeded, but lineage queries return what they
    have found, if anything.
    """

    def __init__(
        self,
        table: Table,
        settings: Settings | None = None,
        *,
        clock: Callable[[], int] = now_ms,
        **parts: Any,
    ) -> None:
        # Public, because views of this store use it.
        self.table = self._table = table
        self.settings = settings or Settings()
        self.clock = clock
        # The other arguments go to `build_components`, for views and the simulation.
        components = self.components = build_components(table, self.settings, clock=clock, **parts)
        self._contents = components.contents
        self._group_commit = GroupCommit(components.committer.record)
        self.catalogue = components.catalogue
        self.tags = TagStore(table, self.catalogue, clock=clock)
        self.policies = PolicyStore(table, clock=clock)
        self.access = AccessStore(table, clock=clock)
        self._horizons = HorizonReader(components, clock=clock)
        self.retention = RetentionRequests(components)
        self.summaries = FieldSummaryReader(components)
        self.field_writes = FieldWriteReader(components)
        self.field_programs = FieldProgramReader(components)

    lineage = answered_by(DatasetLineageReader, DatasetLineageReader.lineage)
    field_lineage = answered_by(FieldGraphReader, FieldGraphReader.field_lineage)
    field_derivations = answered_by(DerivationReader, DerivationReader.field_derivations)
    reach = answered_by(ReachReader, ReachReader.reach)
    hops = answered_by(HopReader, HopReader.hops)
    history = answered_by(FieldHistoryReader, FieldHistoryReader.history)
    diff = answered_by(FieldDiffReader, FieldDiffReader.diff)
    dataset_diff = answered_by(DatasetDiffReader, DatasetDiffReader.dataset_diff)
    runs = answered_by(RunReader, RunReader.runs)
    namespace_runs = answered_by(NamespaceRunReader, NamespaceRunReader.namespace_runs)
    programs = answered_by(RunReader, RunReader.programs)
    run_counts = answered_by(RunReader, RunReader.run_counts)
    flow_report = answered_by(FlowReader, FlowReader.flow_report)
    retention_report = answered_by(RetentionReporter, RetentionReporter.retention_report)

    def record(self, runs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record runs, or events of runs, in order. Returns one result each, durable on return.

        A run whose result is an error is not visible to queries. Raises StoreUnavailable, or CorruptRow for a
        damaged file: then some runs may be stored, and all of them can safely be sent again.
        """
        return self.components.committer.record(runs)

    def record_one(self, run: RunInput) -> CommitResult:
        """Record one run or event in a commit shared with other threads; durable on return.

        Raises ChecksumConflict, RunIdConflict or TooLarge for input that cannot be stored, CorruptRow for a
        damaged file or row of the run or of its content, and StoreUnavailable, after which it may be stored.
        """
        return self._group_commit.record(run)

    def find_conflicts(self, runs: Sequence[RecordedRun]) -> list[RunIdConflict | None]:
        """Return for each run, in order, the id conflict that recording them all would cause, else None."""
        return run_owner.find_conflicts(self._table, self.components.events, runs)

    def may_tag(self, dataset: Dataset) -> bool:
        """Return True: any dataset's fields may be tagged here; a view of a store decides by rights."""
        return True

    def put_metadata(self, metadata: Iterable[DatasetMetadata]) -> None:
        """Put metadata recorded without a run into the catalogue, and its missing tags; durable on return.

        Raises TooLarge, StoreUnavailable and CorruptRow.
        """
        datasets = list(metadata)
        puts = run_rows.last_put_per_cell(
            put for dataset in datasets for put in content_rows.metadata_puts(dataset)
        )
        # Write fields before their tags, so that every tagged field exists.
        if puts:
            self._table.write([puts, *self.tags.missing_puts(datasets)])

    @retry_on_missing_content
    def read_ahead(self, contents: Sequence[WindowQuery], times: Sequence[WindowQuery]) -> None:
        """Read ahead, for `shared_reads.shared`, what queries of contents and of run times read first.

        Reads many rows per call. Raises StoreUnavailable and CorruptRow.
        """
        reader = self.components.times
        readers: tuple[tuple[Sequence[WindowQuery], _FirstReader], ...] = (
            (contents, self.components.windows.checksums_by_name),
            # Reads cut by the budget are not shared: each query repeats them with its own budget.
            (times, lambda queries: reader.times(queries, reader.budget())),
        )
        for queries, read in readers:
            for begin in range(0, len(queries), DATASETS_PER_READ):
                chunk = queries[begin : begin + DATASETS_PER_READ]
                self._horizons.load({query.dataset for query in chunk})
                results = zip(chunk, read(chunk), strict=True)
                self.catalogue.recorded(
                    {query.dataset for query, by_name in results if not any(by_name.values())}
                )

    @retry_on_missing_content
    def dataset(self, dataset: Dataset) -> tuple[DatasetSummary, RunBounds]:
        """Return the summary of a dataset, and the starts of its first and last run. Raises NotFound."""
        summary = self.catalogue.summary(dataset)
        return summary, RunBoundsReader(self.components).bounds(summary.names)

    def retained_from_ms(self, dataset: Dataset, window: Window) -> int | None:
        """Return a dataset's retention horizon (ms) if the window begins before it, else None."""
        return self._horizons.retained_from_ms(dataset, window)

    def retained_with_ms(
        self, datasets: Iterable[Dataset], window: Window, retained_from_ms: int | None
    ) -> int | None:
        """Return the latest of `retained_from_ms` and the horizons of datasets, as last read, in ms.

        Returns None unless the window begins before it. Reads nothing.
        """
        return self._horizons.retained_with_ms(datasets, window, retained_from_ms)

    def runs_retained_from_ms(self, window: Window) -> int | None:
        """Return the latest horizon of any readable dataset (ms) if the window begins before it, else None.

        Requests for single datasets do not count, because they hide no runs from lists of all runs.
        """
        return self._horizons.any_retained_from_ms(window, self.may_read)

    def may_read(self, namespace: str) -> bool:
        """Return True: names of every namespace may be read here; a view of a store decides by rights."""
        return True

    @counted
    def run(self, run: str, namespace: str = "") -> RunDetails:
        """Return the committed state of a run by its id, and by its program's namespace unless "".

        Raises NotFound, and AmbiguousName if programs of several namespaces have a run with this id.
        """
        events = self.components.events
        runs = {
            details.committed.run.namespace: details
            for key, row in events.rows_of_id(run, namespace)
            if (details := events.find_run(key, row)) and namespace in ("", details.committed.run.namespace)
        }
        if not runs:
            raise NotFound(f"run {run!r} not found; list the runs of a dataset to see their ids")
        if len(runs) > 1:
            names = ", ".join(map(repr, sorted(runs)))
            raise AmbiguousName(f"runs {run!r} exist in the namespaces {names}: give the namespace, too")
        return next(iter(runs.values()))

    @retry_on_missing_content
    def run_with_content(self, run: str, namespace: str = "") -> tuple[RunDetails, Content]:
        """Return what `run` returns, and the run's content. Raises NotFound and AmbiguousName."""
        details = self.run(run, namespace)
        return details, self._contents.content(details.committed.checksum)

    def content(self, checksum: str) -> Content:
        """Return a content by its checksum. Raises NotFound if it is not stored, or was deleted."""
        try:
            return self._contents.content(checksum)
        except ContentMissing as error:
            raise NotFound(
                f"content {checksum} not found; GET /v3/runs/<run> returns the checksum of a run"
            ) from error

    def content_programs(self, window: Window) -> ContentProgramReader:
        """Return a new reader of the programs that wrote or read datasets in a window, for one answer."""
        return ContentProgramReader(self.components, window)

    def details(self, runs: Collection[RunKey]) -> dict[RunKey, str]:
        """Return the details of runs as JSON (see `encode_details`), without runs that are not recorded."""
        listed = self.components.events.run_details(list(runs))
        return {key: details.committed.run.details for key, details in listed.items()}

    @retry_on_missing_content
    def contents(self, checksums: Collection[str]) -> dict[str, Content]:
        """Return contents by checksum. Raises ContentMissing for one that was deleted meanwhile."""
        return self._contents.contents(checksums)

    def stored_checksums(self, runs: Collection[RunKey]) -> dict[RunKey, str]:
        """Return the checksums under which `contents` finds the contents of runs, without unrecorded runs.

        Pages of runs have others for readers to whom a part of a content is hidden.
        """
        listed = self.components.events.run_details(list(runs))
        return {key: details.committed.checksum for key, details in listed.items()}

    @retry_on_missing_content
    def run_details(self, page: RunsPage) -> list[tuple[RunDetails, Content]]:
        """Return details and content of each run of a page, in its order, without runs purged meanwhile."""
        details = self.components.events.run_details(page.keys)
        present = [details[key] for key in page.keys if key in details]
        contents = self._contents.contents(run.committed.checksum for run in present)
        return [(run, contents[run.committed.checksum]) for run in present]

    def ready(self) -> None:
        """Raise StoreUnavailable unless the table answers a read."""
        self._table.get(layout.DATASETS)

    def close(self) -> None:
        """Stop the sealer, which finishes its current request, and close the table."""
        if self.components.sealer is not None:
            self.components.sealer.close()
        self._table.close()
