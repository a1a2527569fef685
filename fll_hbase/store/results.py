"""Results of store queries: frozen values; `rest_json` encodes them as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.operation_graph import OperationGraph
from fll_hbase.model.operations import Operation
from fll_hbase.model.run_events import EventLineage, EventRunFacts, RunEvent
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction
from fll_hbase.store.run_rows import CommittedRun


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """Lineage between two datasets, and the number of hops, from 1, at which the walk first reached it."""

    relation: DatasetLineage
    level: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class DatasetLineageResult:
    """Lineage of a dataset over several hops; `truncated_by` has the limits that cut it, as `limit=value`."""

    entries: tuple[LineageEntry, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FieldLineageResult:
    """Operation graph of one field, merged from all contents that touch it.

    `checksums` are those contents, that of the newest run first.
    """

    graph: OperationGraph
    checksums: tuple[str, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One distinct derivation of a field, and the ids of the runs that used it, newest first."""

    operations: tuple[Operation, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derivations:
    """All distinct derivations of a field, the most recently used first."""

    derivations: tuple[Derivation, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run that wrote a dataset (backward), read it (forward), or both."""

    run: ProgramRun
    checksum: str
    directions: frozenset[Direction]


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs newest first; `next_after` is the `start_after` of the next page, empty on the last one."""

    runs: tuple[ListedRun, ...]
    next_after: bytes


@dataclass(frozen=True, slots=True)
class RunDetails:
    """The committed state of a run.

    For a run recorded by OpenLineage events also its events in order, their merged lineage, and the facts of
    each event; empty for a run recorded as a document.
    """

    committed: CommittedRun
    events: tuple[RunEvent, ...] = ()
    part: EventLineage | None = None
    facts: tuple[EventRunFacts, ...] = ()
