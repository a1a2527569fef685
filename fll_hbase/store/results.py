"""Results of store queries: frozen values that `fll_hbase.queries` turns into answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import DerivationParts
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.hop_operations import Hop
from fll_hbase.model.operation_graph import OperationGraph
from fll_hbase.model.operations import Operation
from fll_hbase.model.run_events import EventLineage, EventRunFacts, RunEvent
from fll_hbase.model.runs import ProgramRun, RunKey
from fll_hbase.model.tags import AgePolicy
from fll_hbase.model.window import Direction, Window

if TYPE_CHECKING:
    from fll_hbase.store.rows.run_rows import CommittedRun


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """Lineage between two datasets, and the number of hops, from 1, at which the walk first reached it.

    If failed runs count, `complete` is the lineage without them, unless a limit cut it. Else it is None.
    """

    relation: DatasetLineage
    level: int
    direction: Direction
    complete: DatasetLineage | None = None


@dataclass(frozen=True, slots=True)
class DatasetLineageResult:
    """Lineage of a dataset over several hops; `truncated_by` lists the limits that cut it (`limit=value`)."""

    entries: tuple[LineageEntry, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FieldLineageResult:
    """Operation graph of one field, merged from all contents that touch it: `checksums`, by newest run."""

    graph: OperationGraph
    checksums: tuple[str, ...]
    truncated_by: tuple[str, ...]


class RunSpan(NamedTuple):
    """A number of runs, how many of them failed, their first and last start, and the key of the last run."""

    runs: int
    failed: int
    first_start_ms: int
    last_start_ms: int
    last_run: RunKey

    def union(self, other: RunSpan | None) -> RunSpan:
        """Return the span of both spans' runs, which are different runs, or this span itself for None."""
        if other is None:
            return self
        # Lists of runs put the smallest id first among runs with the same start.
        last = min(self, other, key=lambda span: (-span.last_start_ms, span.last_run))
        return RunSpan(
            self.runs + other.runs,
            self.failed + other.failed,
            min(self.first_start_ms, other.first_start_ms),
            last.last_start_ms,
            last.last_run,
        )


class ReachEdge(NamedTuple):
    """A field that leads to another in some runs; `span` is None if these were not counted.

    `in_order` is whether the order of run starts allows a value to flow through this edge on its way from or
    to the query's field. It is None if unknown. Backward, this requires that the upstream run started no
    later. `checksums` are contents of the runs, newest first, up to the limit of the query, and empty if runs
    were not counted.
    """

    source: DatasetField
    destination: DatasetField
    direct: bool
    span: RunSpan | None
    in_order: bool | None = None
    checksums: tuple[str, ...] = ()


class Path(NamedTuple):
    """A reached field, and the path to the preceding one, None at the start."""

    field: DatasetField
    previous: Path | None

    def fields(self) -> list[DatasetField]:
        """Return the fields of the path, from its start."""
        fields: list[DatasetField] = []
        step: Path | None = self
        while step is not None:
            fields.append(step.field)
            step = step.previous
        return fields[::-1]


@dataclass(frozen=True, slots=True)
class Reach:
    """Fields within reach of one field, with their hops, and the edges between them, sorted by their ends.

    `hops` and `paths` include the fields at which the walk starts. `unknown` are pairs of source and
    destination that are related without known fields; the walk stops at them. `dropped` are fields that a
    transform without outputs takes in some run. `in_order` are the fields that the order of the runs allows,
    None if unknown. `paths` has a shortest path to each field at the far end of an edge. With `causal`, a
    value can have taken this path.
    """

    hops: dict[DatasetField, int]
    edges: tuple[ReachEdge, ...]
    unknown: tuple[tuple[Dataset, Dataset], ...] = ()
    truncated_by: tuple[str, ...] = ()
    dropped: frozenset[DatasetField] = frozenset()
    in_order: frozenset[DatasetField] | None = None
    paths: Mapping[DatasetField, Path] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Derivation:
    """One distinct derivation of a field: number, first and last start of its runs, and a page of them."""

    operations: tuple[Operation, ...]
    runs: tuple[RunKey, ...]
    run_count: int
    first_start_ms: int
    last_start_ms: int


@dataclass(frozen=True, slots=True)
class Derivations:
    """All distinct derivations of a field, the most recently used first.

    `next_skip` is how many runs of each derivation the next page skips, or 0 if there is no next page.
    """

    derivations: tuple[Derivation, ...]
    truncated_by: tuple[str, ...]
    next_skip: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive runs that derived a field in the same way; `checksum` is the content of the newest run.

    Runs that wrote the dataset without the field do not end a stretch. `missing` counts such runs between the
    runs of the stretch. `missing_after` counts those after its newest run, up to the next stretch or the end
    of the window.
    """

    checksum: str
    first_run: RunKey
    last_run: RunKey
    first_start_ms: int
    last_start_ms: int
    runs: int
    missing: int
    missing_after: int


@dataclass(frozen=True, slots=True)
class FieldHistory:
    """Stretches of a field, newest first; `truncated_by` lists the limits that left out older runs.

    `missing_before` is the number of runs that wrote the dataset without the field before the oldest stretch.
    """

    stretches: tuple[Stretch, ...]
    missing_before: int
    truncated_by: tuple[str, ...]


class DerivationRuns(NamedTuple):
    """A distinct derivation of a field, by a digest of the operations that lead into it, and its runs.

    `checksum` is of the newest run's content. If a limit left out all runs, `runs` is 0, the starts None.
    """

    digest: str
    checksum: str
    runs: int
    first_start_ms: int | None = None
    last_start_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """Derivations of a field that only one of two windows has, and parts that only one window has.

    `common` is the number of operations and edges in both. `gained` is None if a limit cut the base window,
    and `lost` if a limit cut the other window, because the missing parts may be in both. `truncated_by` has
    these limits. Derivations are ordered newest first. Gained derivations have a run in the window and none
    in the base window.
    """

    gained: DerivationParts | None
    lost: DerivationParts | None
    common: int
    truncated_by: tuple[str, ...]
    gained_derivations: tuple[DerivationRuns, ...] = ()
    lost_derivations: tuple[DerivationRuns, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field whose derivations differ between two windows, with the differences."""

    name: str
    diff: FieldDiff


@dataclass(frozen=True, slots=True)
class DatasetDiff:
    """Fields whose derivations differ between two windows, by name; `truncated_by` lists limits reached."""

    fields: tuple[ChangedField, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run that wrote a dataset (backward), read it (forward), or both; neither if no dataset is given."""

    run: ProgramRun
    checksum: str
    directions: frozenset[Direction]


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, newest first, and their keys; `next_after` starts the next page, and is b"" on the last one.

    `truncated_by` lists the limits that left out runs from this page and all further ones.
    `unknown_columns` counts the runs that are not listed because it is unknown whether they used the field:
    before each run, and on the last page also after all runs.
    """

    runs: tuple[ListedRun, ...]
    keys: tuple[RunKey, ...]
    next_after: bytes
    truncated_by: tuple[str, ...] = ()
    unknown_columns: tuple[int, ...] = ()


class ProgramDay(NamedTuple):
    """The runs of a program on a UTC day, numbered since 1970, with failed runs counted separately.

    The starts are of the first and last run, failed or not; `failed_runs` has ids of the newest failed runs.
    """

    day: int
    runs: int
    failed: int
    first_start_ms: int
    last_start_ms: int
    failed_runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramUsage:
    """A program that wrote a dataset (backward), read it (forward), or both, with its runs in a window.

    `runs` counts the runs that did not fail, `failed` the others. `last` (the newest run), `directions` and
    `first_start_ms` describe the runs that did not fail, or failed runs if there are no others. `days`,
    newest first, is empty unless requested.
    """

    last: ProgramRun
    directions: frozenset[Direction]
    runs: int
    failed: int
    first_start_ms: int
    days: tuple[ProgramDay, ...] = ()


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs, ordered by newest run. Any listed programs with only failed runs come last.

    `failed_only` always counts the programs with only failed runs. `truncated_by` lists the limits that cut
    the list. `unknown_columns` are the programs of runs that used the dataset without reporting whether they
    used the field, including programs with only failed runs.
    """

    programs: tuple[ProgramUsage, ...]
    failed_only: int
    truncated_by: tuple[str, ...]
    unknown_columns: tuple[ProgramUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Starts of the first and the last run of a dataset, None without runs; see `RunBoundsReader`."""

    first_start_ms: int | None
    last_start_ms: int | None
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunBucket:
    """Number of runs from `start_ms` to the start of the next bucket, with failed runs counted separately."""

    start_ms: int
    complete: int
    failed: int


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Buckets of a window, oldest first; `truncated_by` lists the limits that left out older runs."""

    buckets: tuple[RunBucket, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """The number of a program's runs that wrote a field, and the oldest and newest of them."""

    runs: int
    oldest: ProgramRun
    newest: ProgramRun


@dataclass(frozen=True, slots=True)
class WrittenField:
    """The programs whose runs wrote a field, sorted by name."""

    programs: tuple[ProgramRuns, ...]


@dataclass(frozen=True, slots=True)
class ExpiredField:
    """The last field of a path from a policy's field, and the runs beyond the maximum age that wrote it."""

    path: tuple[DatasetField, ...]
    written: WrittenField


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Where data is older than a policy allows, by field.

    The runs are in the window, which ends no later than the cut-off of the policy. `complying` are the
    policy's other fields, and fields derived from these, without a known run in the window. They are empty if
    a limit cut the report. `unknown` are pairs of source and destination that may have a derived column. Runs
    that started before `retained_from_ms` (milliseconds since 1970, 0 for none) may have been purged.
    """

    policy: AgePolicy
    window: Window
    fields: tuple[ExpiredField, ...]
    complying: tuple[DatasetField, ...]
    unknown: tuple[tuple[Dataset, Dataset], ...]
    retained_from_ms: int
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowHop:
    """A hop of a flow: its ends, the kind of its ways, and the ways of its newest contents.

    `kind` is `copied` if any way copies the value, `masked` if every way masks it, `computed` otherwise, and
    `influence` if the source decides rows or groups alone. It is "" if it is unknown.
    """

    source: DatasetField
    destination: DatasetField
    kind: str
    ways: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowProgram:
    """A program whose runs wrote the end of a flow; `is_current` if its newest run in the window did so."""

    runs: ProgramRuns
    is_current: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """A field with a tag, and a forbidden field that it reaches over `distance` edges, by a shortest path.

    `hops` are between neighbours of `path`, which has a further one where a whole dataset leads to a field.
    """

    source: DatasetField
    destination: DatasetField
    distance: int
    path: tuple[DatasetField, ...]
    hops: tuple[FlowHop, ...]
    programs: tuple[FlowProgram, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowReport:
    """The flows that violate a policy, by their ends, of `tagged` fields with the tag; see `Reach`.

    `forbids_none` is true if the policy is kept, and forbids no recorded dataset.
    """

    policy: FlowPolicy
    tagged: int
    flows: tuple[Flow, ...]
    unknown: tuple[tuple[Dataset, Dataset], ...]
    retained_from_ms: int
    truncated_by: tuple[str, ...]
    forbids_none: bool


@dataclass(frozen=True, slots=True)
class RunDetails:
    """The committed state of a run.

    A run recorded by OpenLineage events also has its events in order, their merged lineage, and the facts of
    each event. These are empty for a run recorded as a document.
    """

    committed: CommittedRun
    events: tuple[RunEvent, ...] = ()
    part: EventLineage | None = None
    facts: tuple[EventRunFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitResult:
    """An acknowledged run or event: `recorded` if no duplicate, `replaced` if other content was replaced."""

    checksum: str
    run: str
    recorded: bool
    replaced: bool


def sort_entries(entries: Iterable[LineageEntry]) -> tuple[LineageEntry, ...]:
    """Sort by level, source and destination, None first. On ties, backward precedes forward."""
    return tuple(sorted(entries, key=_sort_key))


def _sort_key(entry: LineageEntry) -> tuple[object, ...]:
    """Return the sort key of an entry (see `sort_entries`)."""
    source, destination = entry.relation.source or (), entry.relation.destination or ()
    return entry.level, source, destination, entry.direction is Direction.FORWARD
