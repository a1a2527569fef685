"""Downstream of a changed field in recorded runs: fields, datasets, and the programs that ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import msgspec

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.masking import HIDDEN, is_hidden
from fll_hbase.model.runs import ProgramId, ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.names import DatasetName, FieldName, Influence, ProgramName, dataset_name
from fll_hbase.queries.query import Body
from fll_hbase.queries.reach import UnknownRelation, unknown_relations
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import Reach

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

FIELDS_MAX = 500
"""Maximum number of fields that one change lists, nearest first; all are counted."""

CHANGES_MAX = 500
"""Maximum number of changes of one answer whose downstream is read."""


class ImpactedField(FieldName, frozen=True, kw_only=True):
    """A field downstream of a change; `influence` is direct if its values come from the changed field."""

    hops: int
    influence: Influence


class ImpactedProgram(ProgramName, frozen=True, kw_only=True):
    """A program that read a changed field, or a field downstream of it, in the window."""

    last_run: str
    last_start: Annotated[int, msgspec.Meta(description="Milliseconds since 1970")]
    unknown: Annotated[
        bool, msgspec.Meta(description="It read the dataset without reporting which fields it used")
    ] = False
    in_change: Annotated[bool, msgspec.Meta(description="The change contains this program, too")] = False


class Downstream(Body, frozen=True, kw_only=True):
    """Everything downstream of a change: the nearest fields, all datasets, and programs.

    Programs have the newest run first, those with unknown fields last.
    """

    fields: tuple[ImpactedField, ...]
    field_count: int
    datasets: tuple[DatasetName, ...]
    programs: tuple[ImpactedProgram, ...]
    unknown: Annotated[
        tuple[UnknownRelation, ...],
        msgspec.Meta(description="Datasets beyond which it is not known which fields are affected"),
    ] = ()


class DownstreamReader:
    """Reads what is downstream of one field after another, and keeps what it has read of datasets.

    `in_change` are the programs of the change. `truncated_by` collects the limits that cut an answer.
    """

    def __init__(
        self, store: LineageStore, window: Window, *, level: int | None, in_change: Collection[ProgramId]
    ) -> None:
        self.truncated_by: set[str] = set()
        self._store = store
        self._window = window
        self._level = level
        self._in_change = in_change
        self._programs = store.content_programs(window)
        self._read: dict[DatasetField, Downstream] = {}

    def read(self, field: DatasetField, *, must_exist: bool = False) -> Downstream | None:
        """Return what is downstream of a field, or of a dataset as a whole (`*`).

        The result is None beyond CHANGES_MAX fields or at the deadline. Other limits cut the result, and
        `truncated_by` has all of them. A field that was never read has an empty result. Raises NotFound if
        `must_exist` and the field was never recorded, and errors of the store other than DeadlineExceeded.
        """
        if field in self._read:
            return self._read[field]
        if len(self._read) >= CHANGES_MAX:
            self.truncated_by.add(f"changes_max={CHANGES_MAX}")
            return None
        try:
            deadline.check()
            query = ReachQuery(field, self._window, Direction.FORWARD, level=self._level, counts=False)
            reach = self._store.reach(query)
            readers = self._programs.field_readers(reach.hops)
        except NotFound:
            if must_exist:
                raise
            # Recorded runs wrote the field, but no run read its dataset.
            return self._read.setdefault(field, _NOT_READ)
        except DeadlineExceeded:
            self.truncated_by.add(deadline.limit())
            return None
        self.truncated_by |= {*reach.truncated_by, *self._programs.truncated_by}
        programs = [
            *(self._program(run, unknown=False) for run in readers.programs),
            *(self._program(run, unknown=True) for run in readers.unknown),
        ]
        return self._read.setdefault(field, self._downstream(field, reach, programs))

    def _downstream(
        self, field: DatasetField, reach: Reach, programs: Collection[ImpactedProgram]
    ) -> Downstream:
        """Return what is downstream in the form of an answer, with FIELDS_MAX fields; note limits."""
        direct = _passed_on(field, reach)
        # The start itself is no consequence, nor are the other fields of its dataset for a whole dataset.
        reached = [item for item in reach.paths if item != field]
        reached.sort(key=lambda item: (reach.hops.get(item, 0), item))
        if any(is_hidden(item.dataset) for item in reached):
            self.truncated_by.add(HIDDEN)
        if len(reached) > FIELDS_MAX:
            self.truncated_by.add(f"fields_max={FIELDS_MAX}")
        return Downstream(
            fields=tuple(
                ImpactedField(
                    **name_json.field(item),
                    hops=reach.hops[item],
                    influence="direct" if item in direct else "indirect",
                )
                for item in reached[:FIELDS_MAX]
            ),
            field_count=len(reached),
            datasets=tuple(map(dataset_name, sorted({item.dataset for item in reached}))),
            programs=tuple(programs),
            unknown=tuple(unknown_relations(reach.unknown)),
        )

    def _program(self, run: ProgramRun, *, unknown: bool) -> ImpactedProgram:
        return ImpactedProgram(
            **name_json.program(run),
            last_run=run.run,
            last_start=run.start_ms,
            unknown=unknown,
            in_change=run.program_id in self._in_change,
        )


_NOT_READ = Downstream(fields=(), field_count=0, datasets=(), programs=())


def _passed_on(start: DatasetField, reach: Reach) -> set[DatasetField]:
    """Return the fields whose values come from a field over direct edges alone, and the field itself.

    For `*`, these start at all fields of its dataset.
    """
    edges: dict[DatasetField, list[DatasetField]] = defaultdict(list)
    for edge in reach.edges:
        if edge.direct:
            edges[edge.source].append(edge.destination)
    if start.name == WHOLE_DATASET:
        # Other rows are other values of every field that is made from the dataset.
        starts = [source for source in edges if source.dataset == start.dataset]
    else:
        starts = [start]
    passed = set(starts)
    while starts:
        starts = list({far for near in starts for far in edges[near] if far not in passed})
        passed.update(starts)
    return passed
