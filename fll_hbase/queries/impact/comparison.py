"""Comparison of the programs of a change with their last runs in a window."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from fll_hbase.model.content_changes import (
    UNWRITTEN,
    Change,
    ChangeKind,
    WrittenDataset,
    find_changes,
    written_datasets,
)
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.masking import is_hidden
from fll_hbase.model.runs import ProgramId, ProgramRun, RunKey, run_key
from fll_hbase.model.window import Window
from fll_hbase.queries.impact.proposed_programs import Proposal, ProposedProgram
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, NotFound
from fll_hbase.sources.sql.names.column_names import canonical_type
from fll_hbase.sources.sql.script.source_text import sql_literals, sql_row_words
from fll_hbase.store.query_parameters import RunsQuery
from fll_hbase.store.read.content_programs import LastContent

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

ProgramStatus: TypeAlias = Literal["compared", "unknown", "unrecorded", "removed", "not_compiled"]

SEARCHES_MAX = 100
"""Maximum number of programs that are searched among the runs of their namespace: those that wrote no dataset
of the change."""

PROJECT_RUNS_MAX = 5_000
"""Maximum number of newest runs among which programs of a dbt project are searched."""

_PAGE_RUNS = 20


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change of a program with its last run, and the field maps of both contents, which have the inputs.

    A field map is None if the content does not write the dataset, or if only the SQL shows the change.
    """

    change: Change
    run: ProgramRun
    old_map: FieldMap | None
    new_map: FieldMap | None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program was compared: `run` is its run in the change or a recorded one, `last` the last run.

    `has_literals` is false if the SQL of the last run, and so its literals, are not recorded or hidden.
    """

    run: ProgramRun
    status: ProgramStatus
    changes: int = 0
    last: ProgramRun | None = None
    has_literals: bool = True


@dataclass(slots=True)
class Comparison:
    """The changes of all programs, and how each program was compared."""

    changes: list[FoundChange] = field(default_factory=list)
    programs: list[ProgramResult] = field(default_factory=list)
    truncated_by: set[str] = field(default_factory=set)


_Recorded: TypeAlias = Mapping[Dataset, LastContent]
"""The last content of a program for each dataset that it wrote."""


def compare_programs(store: LineageStore, proposal: Proposal, window: Window) -> Comparison:
    """Return the changes of the programs of a change, each compared with its last runs of the window.

    Adds a warning to `proposal` if runs of a dbt project are too many to search. Raises errors of the store,
    also DeadlineExceeded, because a part of the changes would look like a harmless change.
    """
    truncated_by: set[str] = set()
    recorded = _recorded(store, proposal, window, truncated_by)
    last_runs = (min(contents.values(), key=_newest_first).run for contents in recorded.values())
    details = store.details({run_key(run.run, run.namespace) for run in last_runs})
    comparer = _Comparer(store, proposal, details)
    for program_id, program in proposal.programs.items():
        deadline.check()
        comparer.compare(program, recorded.get(program_id, {}))
    for (namespace, project), nodes in proposal.projects.items():
        others, is_cut = _other_programs(store, namespace, project, window)
        if is_cut:
            # No limit of the answer: a project is built as a whole, so its last build is among these runs.
            detail = (
                f"removed models are searched among the newest {PROJECT_RUNS_MAX:,} runs of {namespace!r}"
            )
            proposal.warnings.append(FieldError("documents", detail))
        for program_id, last in others.items():
            if program_id not in proposal.programs:
                comparer.compare_missing(last, is_known=program_id.program in nodes)
    comparer.result.truncated_by |= truncated_by
    return comparer.result


class _Comparer:
    """Compares programs one after another; `result` has the changes so far."""

    def __init__(self, store: LineageStore, proposal: Proposal, details: Mapping[RunKey, str]) -> None:
        self.result = Comparison()
        self._details = details
        # Fields that earlier programs rename, by new name. Documents list upstream programs first, so that
        # reading a renamed field is no change of its readers.
        self._former_names: dict[DatasetField, str] = {}
        self._store = store
        self._proposal = proposal
        # Many programs of one project never share a content, so few are kept.
        self._written = lru_cache(maxsize=16)(self._read_written)

    def compare(self, program: ProposedProgram, recorded: _Recorded) -> None:
        """Add the changes of a proposed program, and how it was compared.

        If `recorded` is empty, this is "unrecorded", without changes. Call it for upstream programs first, so
        that a field that they rename does not change its readers.
        """
        if not recorded:
            self.result.programs.append(ProgramResult(program.run, "unrecorded"))
            return
        info = program.info
        written = written_datasets(info.operations, info.field_map, former_names=self._former_names)
        new = {dataset: (item, info.field_map) for dataset, item in written.items()}
        last = min(recorded.values(), key=_newest_first)
        last_written, last_map = self._written(last.checksum)
        old = {
            dataset: (self._written(content.checksum)[0][content.name], self._written(content.checksum)[1])
            for dataset, content in recorded.items()
        }
        names = {content.name for content in recorded.values()}
        in_both = sorted(old.keys() & new.keys())
        old |= {name: (item, last_map) for name, item in last_written.items() if name not in names}
        changes_before = len(self.result.changes)
        for dataset in sorted(old.keys() | new.keys()):
            self._compare_dataset(dataset, last.run, old.get(dataset), new.get(dataset))
        self._add_row_words(program.run, last.run, in_both, changes_before)
        has_changes = len(self.result.changes) > changes_before
        literals_differ = self._literals_differ(program.run, last.run, has_changes=has_changes)
        if literals_differ:
            self.result.changes += (
                _dataset_change(ChangeKind.LITERALS, dataset, last.run) for dataset in in_both
            )
        compared = (*old.values(), *new.values())
        is_unknown = any(item.is_partial or _has_hidden(field_map) for item, field_map in compared)
        status: ProgramStatus = "unknown" if is_unknown else "compared"
        count = len(self.result.changes) - changes_before
        result = ProgramResult(program.run, status, count, last.run, has_literals=literals_differ is not None)
        self.result.programs.append(result)

    def _add_row_words(
        self, new: ProgramRun, last: ProgramRun, datasets: Sequence[Dataset], changes_before: int
    ) -> None:
        """Add a change of all rows of datasets, unless there is one, if outer joins or set operations differ.

        Nothing differs if the SQL of a run is unknown.
        """
        new_sql, old_sql = _sql_of(new.details), self._last_sql(last)
        if not new_sql or not old_sql or sql_row_words(old_sql) == sql_row_words(new_sql):
            return
        changes = (item.change for item in self.result.changes[changes_before:])
        changed = {change.field.dataset for change in changes if change.kind is ChangeKind.ROWS}
        self.result.changes += [
            _dataset_change(ChangeKind.ROWS, dataset, last) for dataset in datasets if dataset not in changed
        ]

    def _last_sql(self, last: ProgramRun) -> str:
        """Return the SQL of a last run, or "" if it is unknown."""
        return _sql_of(self._details.get(run_key(last.run, last.namespace), ""))

    def _literals_differ(self, new: ProgramRun, last: ProgramRun, *, has_changes: bool) -> bool | None:
        """Return whether the literals of the SQL of two runs differ.

        Returns False if `new` has no SQL, else None if the SQL of `last` is unknown.

        If the program `has_changes`, a literal must be replaced by another one: these changes may explain
        another order, and literals that are only gone or only new.
        """
        new_sql = _sql_of(new.details)
        if not new_sql:
            return False
        old_sql = self._last_sql(last)
        if not old_sql:
            return None
        old_literals, new_literals = sql_literals(old_sql), sql_literals(new_sql)
        if has_changes:
            old_count, new_count = Counter(old_literals), Counter(new_literals)
            return bool(old_count - new_count) and bool(new_count - old_count)
        return old_literals != new_literals

    def compare_missing(self, last: LastContent, *, is_known: bool) -> None:
        """Add a recorded program of a project that the change does not describe.

        Unless its name `is_known` to the project, it is removed, and so is everything that it wrote.
        """
        if is_known:
            self.result.programs.append(ProgramResult(last.run, "not_compiled", 0, last.run))
            return
        written, field_map = self._written(last.checksum)
        changes_before = len(self.result.changes)
        for dataset, item in written.items():
            self._compare_dataset(dataset, last.run, (item, field_map), None)
        count = len(self.result.changes) - changes_before
        self.result.programs.append(ProgramResult(last.run, "removed", count, last.run))

    def _compare_dataset(
        self,
        dataset: Dataset,
        run: ProgramRun,
        old: tuple[WrittenDataset, FieldMap] | None,
        new: tuple[WrittenDataset, FieldMap] | None,
    ) -> None:
        """Add the changes of a dataset that a program wrote, or would write, and note its renames."""
        old_written, new_written = (item[0] if item else UNWRITTEN for item in (old, new))
        both = [DatasetField(dataset, name) for name in old_written.fields.keys() & new_written.fields.keys()]
        changes = list(
            find_changes(
                dataset,
                old_written,
                new_written,
                types=self._store.catalogue.types(both) if both else {},
                new_types=self._proposal.types,
                type_key=canonical_type,
            )
        )
        for change in changes:
            if change.kind is ChangeKind.RENAMED:
                self._former_names[DatasetField(dataset, change.to)] = change.field.name
        self.result.changes += (
            FoundChange(change, run, old[1] if old else None, new[1] if new else None) for change in changes
        )

    def _read_written(self, checksum: str) -> tuple[Mapping[Dataset, WrittenDataset], FieldMap]:
        """Return what a stored content writes, and its field map."""
        content = self._store.contents([checksum])[checksum]
        written = written_datasets(content.operations, content.field_map)
        return written, content.field_map


def _recorded(
    store: LineageStore, proposal: Proposal, window: Window, truncated_by: set[str]
) -> dict[ProgramId, dict[Dataset, LastContent]]:
    """Return the last contents of the programs of a change, by the datasets that they wrote.

    Programs without a known run are left out, as are programs beyond SEARCHES_MAX that wrote only other
    datasets. Limits that were reached are added to `truncated_by`.
    """
    wanted: dict[Dataset, set[ProgramId]] = defaultdict(set)
    for program_id, program in proposal.programs.items():
        for dataset in program.info.destinations:
            wanted[dataset].add(program_id)
    recorded: dict[ProgramId, dict[Dataset, LastContent]] = defaultdict(dict)
    reader = store.content_programs(window)
    for (program_id, dataset), content in reader.last_contents(wanted).items():
        recorded[program_id][dataset] = content
    truncated_by |= reader.truncated_by
    # Programs that wrote other datasets than they would write now.
    missing = [program_id for program_id in proposal.programs if program_id not in recorded]
    if len(missing) > SEARCHES_MAX:
        truncated_by.add(f"searches_max={SEARCHES_MAX}")
    for program_id in missing[:SEARCHES_MAX]:
        query = RunsQuery(program_id.namespace, window, program=program_id.program)
        runs = _runs(store, query, _PAGE_RUNS, truncated_by)
        newest = next((content for content in runs if content.run.program_id == program_id), None)
        for content in _with_stored_checksums(store, [newest] if newest else []):
            written = store.contents([content.checksum])[content.checksum].field_map.destinations
            visible = (name for name in written if not is_hidden(name))
            recorded[program_id] = {name: content._replace(name=name) for name in visible}
    return {program_id: contents for program_id, contents in recorded.items() if contents}


def _other_programs(
    store: LineageStore, namespace: str, project: str, window: Window
) -> tuple[dict[ProgramId, LastContent], bool]:
    """Return the last content of each program of a dbt project among the newest PROJECT_RUNS_MAX runs.

    Also returns whether the namespace has more runs. Failed runs are left out.
    """
    last: dict[ProgramId, LastContent] = {}
    truncated_by: set[str] = set()
    for content in _runs(store, RunsQuery(namespace, window), PROJECT_RUNS_MAX, truncated_by):
        if content.run.application == project and content.run.type == "DBT":
            last.setdefault(content.run.program_id, content)
    stored = _with_stored_checksums(store, list(last.values()))
    return {content.run.program_id: content for content in stored}, bool(truncated_by)


def _with_stored_checksums(store: LineageStore, contents: Sequence[LastContent]) -> Iterator[LastContent]:
    """Yield the contents of listed runs with the checksums by which they are read, without deleted runs."""
    keys = [run_key(content.run.run, content.run.namespace) for content in contents]
    checksums = store.stored_checksums(keys)
    for key, content in zip(keys, contents, strict=True):
        if key in checksums:
            yield content._replace(checksum=checksums[key])


def _has_hidden(field_map: FieldMap) -> bool:
    """Return whether a content reads a dataset that is hidden, so that not all of it can be compared."""
    return any(map(is_hidden, field_map.sources))


def _runs(store: LineageStore, query: RunsQuery, limit: int, truncated_by: set[str]) -> Iterator[LastContent]:
    """Yield those of the newest `limit` runs that did not fail, with empty names of the dataset.

    Yields nothing for an unknown namespace. Adds a limit to `truncated_by` if there are more runs.
    """
    try:
        page = store.namespace_runs(query, limit=limit)
    except NotFound:
        return
    for item in page.runs:
        if not item.run.state.failed:
            yield LastContent(item.run, item.checksum, Dataset("", ""))
    if page.next_after:
        truncated_by.add(f"runs_searched_max={limit}")


def _dataset_change(kind: ChangeKind, dataset: Dataset, run: ProgramRun) -> FoundChange:
    """Return a change of a whole dataset that the SQL shows, and the operations do not."""
    return FoundChange(Change(kind, DatasetField(dataset, WHOLE_DATASET)), run, None, None)


def _sql_of(details: str) -> str:
    """Return the SQL in the details of a run, or "" if they have none."""
    sql = json.loads(details).get("sql", "") if details else ""
    return sql if isinstance(sql, str) else ""


def _newest_first(content: LastContent) -> tuple[int, str]:
    return -content.run.start_ms, content.run.run
