"""Resolver: turns the lines of a plan file into OpenLineage events."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachetools import LRUCache

from fll_hbase.capture.resolver import dump
from fll_hbase.capture.resolver.dataset_names import DatasetName, dataset_names
from fll_hbase.capture.resolver.dump import Application, Execution, Line
from fll_hbase.capture.resolver.events import DIRECT_KINDS, FieldInput, WriteEvent, to_json
from fll_hbase.capture.resolver.plan_lineage import ColumnLineage, Direct, NamedColumn, NamedIndirect
from fll_hbase.capture.resolver.plans import ResolvedPlan, Write, resolve
from fll_hbase.capture.resolver.remembered import LineageNames, RddMemory, TableMemory
from fll_hbase.capture.resolver.table_changes import (
    DROP,
    OVERWRITE,
    RENAME,
    TRUNCATE,
    listed_columns,
    row_of_change,
)
from fll_hbase.runtime.json_types import Json

_log = logging.getLogger(__name__)

PLANS_MAX = 64
"""Resolved plans that are reused when the same plan is executed again, as in a loop."""

PLAN_BYTES_MAX = 256 * 1024
"""Largest dump of a plan whose result is reused."""

GROUPS_MAX = 1_000
"""Executions with a root that has not ended. Beyond this, the oldest group is resolved as it is."""


STREAMS_MAX = 1_000
"""Outputs of streams that are remembered."""

_UNNAMED = frozenset({"batch", "checkpoint", "noop"})
"""Kinds of targets that have no name and need none."""

_SINKS = frozenset({"ConsoleTable", "ForeachBatchSink", "MemorySink", "NoopTable"})
"""Sinks that store nothing. The function of a batch has writes of its own."""

_UNKNOWN = (
    "the lineage of columns of %s, and maybe of others, is unknown: the rows come from the program (RDDs,"
    " collected data) or from a source without a name"
)


class Resolver:
    """Turns lines into events of jobs in `namespace`, in order; remembers what later lines refer to."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._application = Application("unknown", "unknown", 0)
        self._groups: OrderedDict[int, list[Line]] = OrderedDict()
        self._plans: LRUCache[bytes, ResolvedPlan] = LRUCache(PLANS_MAX)
        self._memory = RddMemory()
        self._tables = TableMemory()
        self._reported: set[str] = set()
        self._streamed: LRUCache[DatasetName, None] = LRUCache(STREAMS_MAX)

    def events(self, line: bytes) -> list[Json]:
        """Return the events that a line completes; log an invalid line as a warning and return no events."""
        try:
            return self._process(dump.decode_line(line))
        except Exception as error:  # noqa: BLE001 (one line must not stop the lines behind it)
            _log.warning("capture: a line of %d bytes cannot be read: %s", len(line), error)
            return []

    def finish(self) -> list[Json]:
        """Return and forget the events of executions with an unfinished root; call it at the very end."""
        groups = list(self._groups.values())
        self._groups.clear()
        return [event for lines in groups for event in self._group_events(lines)]

    def _process(self, line: Line) -> list[Json]:
        """Return the events of the executions that a line completes, after the end of their root.

        Beyond GROUPS_MAX roots, the oldest one counts as ended. Logs what the listener could not read.
        """
        if line.application is not None:
            self._application = line.application
        if line.fault is not None:
            _log.warning("capture: an execution could not be read by the listener: %s", line.fault)
        if line.unseen is not None:
            _log.warning(
                "capture: lineage of RDDs that the application writes is not recorded: RDDs have no plan"
            )
        if line.application_end is not None:
            return self.finish()
        if line.execution is None:
            return []
        root = line.execution.root
        lines = self._groups.setdefault(root, [])
        lines.append(line)
        if line.execution.id == root:
            return self._group_events(self._groups.pop(root))
        if len(self._groups) > GROUPS_MAX:
            return self._group_events(self._groups.popitem(last=False)[1])
        return []

    def _group_events(self, lines: list[Line]) -> list[Json]:
        """Return the events of a root and the executions it started; log executions that fail to resolve."""
        # The root comes first: executions inside a batch of a stream read the columns of the batch.
        ordered = sorted(
            lines, key=lambda line: line.execution is not None and line.execution.id != line.execution.root
        )
        events: list[tuple[WriteEvent, bool]] = []
        for line in ordered:
            is_parent = line is ordered[0] and len(ordered) > 1
            try:
                events.extend((event, is_create or is_parent) for event, is_create in self._line_events(line))
            except Exception as error:  # noqa: BLE001 (one execution must not stop the others)
                _log.warning("capture: lineage of an execution is not recorded: %s", error)
        return [to_json(event, self._namespace) for event in _without_duplicates(events)]

    def _line_events(self, line: Line) -> Iterator[tuple[WriteEvent, bool]]:
        """Yield the event of each write of a line, and whether the write creates its table."""
        if line.execution is None or not bytes(line.plan):
            return
        plan = self._resolved(bytes(line.plan))
        names = [dataset_names(self._tables.located(row)) for row in line.datasets]
        self._warn_of_paths(line.datasets)
        self._memory.link(line.datasets)
        lineage = LineageNames(line.datasets, names, self._memory)
        self._remember(line.datasets, plan, lineage)
        for write in plan.writes:
            self._warn_of_target(line.datasets[write.target], names[write.target])
            for output in names[write.target]:
                if plan.is_stream and self._is_without_rows(plan, output):
                    continue
                event = self._event(line.execution, plan, write, output, lineage)
                yield (
                    _changed(event, write, line.datasets) if write.is_table_change else event,
                    write.is_create,
                )

    def _is_without_rows(self, plan: ResolvedPlan, output: DatasetName) -> bool:
        """Return whether a batch has no sources although its stream had some, and only writes state.

        Remembers the outputs of batches with sources.
        """
        if not plan.sources:
            return output in self._streamed
        self._streamed[output] = None
        return False

    def _warn_of_target(self, row: Json, names: Sequence[DatasetName]) -> None:
        """Warn of rows with an unknown destination: topics that only the rows name, or an unknown sink."""
        target = row.get("class") or row.get("provider")
        if names or row.get("kind") in _UNNAMED or target in _SINKS:
            return
        if row.get("kind") == "kafka":
            text = "lineage is not recorded: the topic of the rows that go to %s is not a constant"
            self._warn_once(text, row.get("servers"))
        else:
            self._warn_once("lineage is not recorded: rows go to %s, which has no name", target)

    def _warn_of_paths(self, rows: Sequence[Json]) -> None:
        """Warn that the listener left out paths of a source, unless a stream read files of one directory."""
        left_out = max((row.get("pathsLeftOut", 0) for row in rows if not row.get("stream")), default=0)
        if left_out:
            self._warn_once("%d paths of a source are not recorded, which has too many", left_out)

    def _warn_once(self, text: str, value: object) -> None:
        """Log a warning with one value, once per text and application."""
        if text not in self._reported:
            self._reported.add(text)
            _log.warning(f"capture: {text}", value)

    def _resolved(self, body: bytes) -> ResolvedPlan:
        """Resolve a plan, or return it from the cache of PLANS_MAX plans of at most PLAN_BYTES_MAX bytes."""
        digest = hashlib.blake2b(body, digest_size=16).digest()
        plan = self._plans.get(digest)
        if plan is None:
            plan = resolve(body)
            if len(body) <= PLAN_BYTES_MAX:
                self._plans[digest] = plan
        return plan

    def _remember(self, rows: Sequence[Json], plan: ResolvedPlan, lineage: LineageNames) -> None:
        """Remember the columns of the plan's root under the ids of each row that is a checkpoint or batch."""
        for row in rows:
            if row.get("kind") in ("checkpoint", "batch"):
                columns = [lineage.column(column) for column in plan.root_columns]
                self._memory.put(row["ids"], columns, lineage.rows(plan.root_rows, plan.sources))

    def _event(
        self,
        execution: Execution,
        plan: ResolvedPlan,
        write: Write,
        output: DatasetName,
        lineage: LineageNames,
    ) -> WriteEvent:
        """Return the event of one write; `fields` is None if the plan is unknown or only the table changes.

        Single columns of unknown lineage are only in `types`. Unknown lineage is logged once.
        """
        rows = lineage.rows(write.rows, plan.sources_of(write))
        inputs_of = {
            name: tuple(_field_inputs(column, plan.texts.get(column.row, ""), lineage))
            for name, column in write.columns
        }
        # Only fields without any inputs count as generated.
        unknown = {
            name: ""
            for name, column in write.columns
            if not inputs_of[name] and lineage.column(column).is_partial
        }
        fields = {name: inputs for name, inputs in inputs_of.items() if name not in unknown}
        if lineage.has_unknown:
            self._warn_once(_UNKNOWN, output.name)
        used = {item.dataset for inputs in fields.values() for item in inputs}
        types_read = {
            name: types for number, types in plan.types.items() for name in lineage.datasets(number)
        }
        return WriteEvent(
            self._application,
            execution,
            output,
            inputs=tuple(sorted(used | rows.datasets)),
            fields=None if write.is_table_change or plan.is_unknown else fields,
            rows=tuple(_indirect(rows.inputs)),
            types=unknown | write.types,
            types_read=types_read,
            lifecycle=write.lifecycle,
            is_stream=plan.is_stream,
        )


def _changed(event: WriteEvent, write: Write, rows: Sequence[Json]) -> WriteEvent:
    """Return a table change's event with types, former name or renamed columns; keep a removal as it is."""
    row = row_of_change(rows[write.target if write.renamed is None else write.renamed])
    if write.lifecycle in (DROP, TRUNCATE):
        return event
    types = event.types or listed_columns(row)
    if write.lifecycle == RENAME:
        names = dataset_names(row)
        return replace(event, output=names[0] if names else event.output, previous=event.output, types=types)
    if not write.renamed_columns:
        return replace(event, types=types)
    fields: dict[str, tuple[FieldInput, ...]] = {
        name: (FieldInput(event.output, former, "DIRECT", DIRECT_KINDS[Direct.IDENTITY]),)
        for name, former in write.renamed_columns
    }
    return replace(event, types=types, fields=fields, inputs=(event.output,))


def _field_inputs(column: ColumnLineage, text: str, lineage: LineageNames) -> Iterator[FieldInput]:
    """Yield the inputs of a column, direct ones first, with the text of its expression unless copied."""
    single = lineage.single(column)
    inputs = lineage.column(column) if single is None else NamedColumn()
    for dataset, field, kind, masked in [single] if single is not None else sorted(inputs.direct):
        yield FieldInput(dataset, field, "DIRECT", DIRECT_KINDS[kind], text if kind else "", masked)
    yield from _indirect(inputs.indirect)


def _indirect(inputs: frozenset[NamedIndirect]) -> Iterator[FieldInput]:
    """Return the indirect inputs, sorted by dataset, field and kind, as inputs of an event."""
    return (FieldInput(dataset, field, "INDIRECT", kind) for dataset, field, kind in sorted(inputs))


def _without_duplicates(events: Sequence[tuple[WriteEvent, bool]]) -> list[WriteEvent]:
    """Return the events, commands last, except events of a command that repeat the executions it started.

    CREATE TABLE AS SELECT starts an execution that writes the files. The execution has the location of the
    table, the command its name. The flag of an event is set if its command starts others.
    """
    written = [event for event, is_create in events if not is_create]
    created = [event for event, is_create in events if is_create]
    unmatched: dict[DatasetName, WriteEvent] = {}
    for create in created:
        match = next((number for number, event in enumerate(written) if _is_same(create, event)), None)
        if match is None:
            unmatched.setdefault(create.output, create)
        else:
            written[match] = _joined(create, written[match])
    return [*written, *unmatched.values()]


def _joined(create: WriteEvent, event: WriteEvent) -> WriteEvent:
    """Return an event with the facts that only the command knows: the table's name, and that it is new."""
    output = event.output
    if create.lifecycle == OVERWRITE and create.output.symlink is not None:
        # A replaced table keeps its location, whatever the plan of its files contains.
        output = create.output
    elif output.symlink is None:
        output = output._replace(symlink=create.output.symlink)
    return replace(event, output=output, lifecycle=create.lifecycle or event.lifecycle)


def _is_same(create: WriteEvent, event: WriteEvent) -> bool:
    """Return whether an execution writes the table that a command creates, by name or its last part."""
    names = (create.output.namespace, create.output.name) == (event.output.namespace, event.output.name)
    table = create.output.symlink[1] if create.output.symlink else create.output.name
    return names or event.output.name.rpartition("/")[2] == table.rpartition(".")[2]
