"""The retention report: where data of a policy's fields, or data derived from it, is too old."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fll_hbase.model import field_relations
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.masking import HIDDEN, is_hidden
from fll_hbase.model.operations import Influence
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.tags import AgePolicy
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import ReachQuery, RetentionQuery, WindowQuery
from fll_hbase.store.read.field_paths import FieldPath, next_fields, path_between
from fll_hbase.store.read.horizons import HorizonReader
from fll_hbase.store.read.reach import ReachReader
from fll_hbase.store.results import ExpiredField, ProgramRuns, RetentionReport, WrittenField
from fll_hbase.store.tags import TagStore

BATCH_RUNS = 500
"""Maximum number of runs read in one call."""

ORIGINS_MAX = 1_000
"""Maximum number of a policy's fields that a report follows."""

DATASETS_PER_READ = 50
"""Maximum number of datasets whose horizons are read together."""

_WALK_SHARE = 0.5
"""The share of a request's time for walking fields; the rest is for reading their writers."""


@dataclass(frozen=True, slots=True)
class WriterQuery:
    """Fields whose writers to find, and what counts as a write.

    A run writes a field of `origins` whenever it writes that field. It writes any other field only by
    deriving it from another of the `fields`. Indirect dependencies count only with `indirect`.
    """

    fields: Collection[DatasetField]
    origins: Collection[DatasetField]
    window: Window
    indirect: bool


class WriterReader(Reader):
    """Reads the writers of fields. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def written(self, query: WriterQuery) -> Iterator[tuple[ProgramRun, frozenset[DatasetField]]]:
        """Yield each run that wrote any of the fields, by dataset and name, newest first.

        A run is yielded once for each dataset that it wrote, with its fields under all names of the dataset.
        Raises DeadlineExceeded.
        """
        datasets = sorted({field.dataset for field in query.fields})
        aliases = self._catalogue.aliases(datasets)
        names = {name: dataset for dataset in reversed(datasets) for name in aliases.get(dataset, ())}
        names |= {dataset: dataset for dataset in datasets}
        by_dataset: dict[Dataset, list[Dataset]] = defaultdict(list)
        for name in sorted(names):
            by_dataset[names[name]].append(name)
        for dataset, listed in by_dataset.items():
            by_content: dict[str, frozenset[DatasetField]] = {}
            writers = WindowQuery(Direction.BACKWARD, dataset, query.window)
            for run in self._windows.runs_of_names(writers, listed, batch_size=BATCH_RUNS):
                # Thousands of runs may share a content.
                if run.checksum not in by_content:
                    by_content[run.checksum] = frozenset(
                        field for name in listed for field in self._fields(query, run.checksum, name, names)
                    )
                if by_content[run.checksum]:
                    yield run.run, by_content[run.checksum]

    def _fields(
        self, query: WriterQuery, checksum: str, name: Dataset, names: Mapping[Dataset, Dataset]
    ) -> Iterator[DatasetField]:
        """Yield the query's fields that a content writes and that are origins or derived from others."""
        for edge in field_relations.edges_into(self._contents.field_map(checksum), name):
            if edge.influence is None and edge.source is not None:
                continue
            written = DatasetField(names[name], edge.destination_field or WHOLE_DATASET)
            if written in query.origins:
                yield written
            elif written in query.fields and edge.source is not None:
                source = DatasetField(names.get(edge.source, edge.source), edge.source_field or WHOLE_DATASET)
                counts = query.indirect or edge.influence is not Influence.INDIRECT
                if counts and _is_member(source, query.fields):
                    yield written


class WriterUnion:
    """The writers of fields under construction."""

    def __init__(self) -> None:
        self._runs: dict[DatasetField, dict[tuple[str, str, str, str], ProgramRuns]] = {}

    def add(self, run: ProgramRun, fields: Collection[DatasetField]) -> None:
        """Count a run as a writer of each given field; a run that is added twice counts twice."""
        program = run.namespace, run.application, run.program, run.type
        for field in fields:
            programs = self._runs.setdefault(field, {})
            programs[program] = _with_run(programs.get(program), run)

    def build(self) -> dict[DatasetField, WrittenField]:
        """Return the writers of each field with any, sorting programs by name."""
        return {
            field: WrittenField(tuple(programs[program] for program in sorted(programs)))
            for field, programs in self._runs.items()
        }


def _with_run(runs: ProgramRuns | None, run: ProgramRun) -> ProgramRuns:
    """Return the runs of a program with one more run; `runs` is None for the first."""
    if runs is None:
        return ProgramRuns(1, run, run)
    oldest = min(runs.oldest, run, key=_start_and_id)
    return ProgramRuns(runs.runs + 1, oldest, max(runs.newest, run, key=_start_and_id))


def _start_and_id(run: ProgramRun) -> tuple[int, str]:
    """Return the sort key of a run: by start, then by id."""
    return run.start_ms, run.run


def _is_member(source: DatasetField, fields: Collection[DatasetField]) -> bool:
    """Return whether a field, or the whole dataset to which it belongs, is among the fields."""
    return source in fields or DatasetField(source.dataset, WHOLE_DATASET) in fields


class RetentionReporter(Reader):
    """Creates retention reports. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        super().__init__(components)
        self._tags = TagStore(components.table, components.catalogue)
        self._reach = ReachReader(components)
        self._writers = WriterReader(components)
        self._horizons = HorizonReader(components, clock=now_ms)

    def retention_report(self, query: RetentionQuery) -> RetentionReport:
        """Return the policy's fields, and fields derived from them, that runs of the window wrote.

        `truncated_by` names the limits, and the deadline, that cut the report. Raises DeadlineExceeded if no
        run was read in time.
        """
        truncated_by: set[str] = set()
        unknown: set[tuple[Dataset, Dataset]] = set()
        origins = self._origins(query.policy, truncated_by)
        with deadline.shared(_WALK_SHARE):
            paths = self._paths(query, query.window, origins, truncated_by, unknown)
        # Read before the writers, because a report that the deadline cuts needs it, too.
        retained_from_ms = self._retained_from_ms(paths)
        union = WriterUnion()
        writers = WriterQuery(paths.keys(), frozenset(origins), query.window, query.indirect)
        written = self._writers.written(writers)
        for run, fields in deadline.until_over(written, truncated_by=truncated_by):
            union.add(run, fields)
        written_fields = union.build()
        expired = self._first_fields(paths, written_fields, truncated_by)
        # Done last, because data that is too old matters more than data that is not.
        everything = (
            paths.keys() | self._paths(query, query.full_window, origins, truncated_by, unknown).keys()
        )
        try:
            retained_from_ms = max(retained_from_ms, self._retained_from_ms(everything))
        except DeadlineExceeded:
            truncated_by.add(deadline.limit())
        # After a cut, and for hidden datasets, the writing runs are unknown.
        visible = {field for field in everything if not is_hidden(field.dataset)}
        complying = set() if truncated_by else visible - written_fields.keys()
        if len(visible) < len(everything):
            truncated_by.add(HIDDEN)
        return RetentionReport(
            query.policy,
            query.window,
            tuple(expired),
            tuple(sorted(complying)),
            tuple(sorted(unknown)),
            retained_from_ms,
            tuple(sorted(truncated_by)),
        )

    def _first_fields(
        self,
        paths: Mapping[DatasetField, FieldPath],
        written_fields: Mapping[DatasetField, WrittenField],
        truncated_by: set[str],
    ) -> list[ExpiredField]:
        """Return fields in order, at least one, up to `connections_max` programs in all; note a cut."""
        lines_max = self._settings.connections_max
        expired: list[ExpiredField] = []
        count = 0
        for field, written in sorted(written_fields.items()):
            count += len(written.programs)
            # Include at least one field, even if its programs exceed the limit.
            if count > lines_max and expired:
                truncated_by.add(f"connections_max={lines_max}")
                break
            expired.append(ExpiredField(paths[field], written))
        return expired

    def _origins(self, policy: AgePolicy, truncated_by: set[str]) -> list[DatasetField]:
        """Return the field or tagged fields of a policy, at most ORIGINS_MAX; note if there are more."""
        if policy.field is not None:
            return [policy.field]
        page = self._tags.tagged(policy.tag, limit=ORIGINS_MAX)
        if page.next_after is not None:
            truncated_by.add(f"origins_max={ORIGINS_MAX}")
        return [tag.field for tag in page.tags]

    def _paths(
        self,
        query: RetentionQuery,
        window: Window,
        origins: Iterable[DatasetField],
        truncated_by: set[str],
        unknown: set[tuple[Dataset, Dataset]],
    ) -> dict[DatasetField, FieldPath]:
        """Return shortest paths to origins and fields derived from them, up to `connections_max` in all."""
        paths: dict[DatasetField, FieldPath] = {origin: (origin,) for origin in origins}
        fields_max = self._settings.connections_max
        iterated = self._iter_paths(query, window, list(paths), truncated_by, unknown)
        # The origins are known anyway.
        for path in deadline.until_over(iterated, truncated_by=truncated_by, needs_first=False):
            if path[-1] not in paths and len(paths) == fields_max:
                truncated_by.add(f"connections_max={fields_max}")
                break
            stored = paths.get(path[-1])
            if stored is None or (len(path), path) < (len(stored), stored):
                paths[path[-1]] = path
        return paths

    def _iter_paths(
        self,
        query: RetentionQuery,
        window: Window,
        origins: Iterable[DatasetField],
        truncated_by: set[str],
        unknown: set[tuple[Dataset, Dataset]],
    ) -> Iterator[FieldPath]:
        """Yield a shortest path from each origin to each field derived from it. Raises DeadlineExceeded."""
        for origin in origins:
            deadline.check()
            reach_query = ReachQuery(
                origin,
                window,
                Direction.FORWARD,
                indirect=query.indirect,
                counts=False,
            )
            reach = self._reach.fields_within(reach_query)
            truncated_by |= set(reach.truncated_by)
            unknown |= set(reach.unknown)
            following = next_fields(reach, origin, Direction.FORWARD)
            for field in following:
                yield path_between(field, following, Direction.FORWARD)

    def _retained_from_ms(self, fields: Iterable[DatasetField]) -> int:
        """Return the latest horizon of any of the fields' datasets under all their names, or 0."""
        datasets = sorted({field.dataset for field in fields})
        chunks = (datasets[i : i + DATASETS_PER_READ] for i in range(0, len(datasets), DATASETS_PER_READ))
        return max((ms for chunk in chunks for ms in self._horizons.load(chunk).values()), default=0)
