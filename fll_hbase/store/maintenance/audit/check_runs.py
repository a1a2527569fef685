"""Checks of run rows: the content, event bodies, references, ways, day and index row that each one needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.codec import SEPARATOR, day_of, inverted_start
from fll_hbase.keys.row_kinds import is_known
from fll_hbase.model.checksum import digest
from fll_hbase.model.runs import ProgramRun, State
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.endpoints import EndpointKeys
from fll_hbase.store.maintenance.audit.findings import (
    Finding,
    Kind,
    Repair,
    RowFacts,
    cell_text,
    token_text,
    unknown_columns,
)
from fll_hbase.store.maintenance.liveness import run_index_row
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Row

CACHED_MAX = 100_000
"""Maximum number of cached programs, and of days whose cells are already reported."""

# Keyed by bytes, so the fast path decodes nothing.
_FAILED = {state.value.encode(): state.failed for state in State}
_FIRST_DOCUMENT, _FIRST_COMMIT = layout.DOCUMENT + b"00000001|", layout.COMMIT + b"00000001|"
_DOCUMENT = re.compile(re.escape(layout.DOCUMENT) + rb"[0-9a-f]{8}\|[0-9a-f]{32}")
_EVENT = re.compile(re.escape(layout.EVENT) + rb"[0-9a-f]{16}\|(?:[0-9a-f]{16}){1,2}")
_COMMIT = re.compile(re.escape(layout.COMMIT) + rb"[0-9a-f]{8}\|(?:[0-9a-f]{16}){1,2}")

Endpoints: TypeAlias = Mapping[bytes, Sequence[EndpointKeys]]
"""Endpoints by content row, without contents that are missing or unreadable."""


class ProgramFacts(NamedTuple):
    """The parts of a run's rows that name its program: the value of its references, and its run index.

    `index_prefix` is the key prefix in the run index, empty if the program is unknown.
    """

    reference: bytes
    index_prefix: bytes
    index_column: bytes


_UNKNOWN_PROGRAM = ProgramFacts(b"", b"", b"")


class RunIndexFacts(NamedTuple):
    """The parts of a run's references, ways, day and index row."""

    checksum: bytes
    start_ms: int
    failed: bool
    program: ProgramFacts


class RunColumns(NamedTuple):
    """The columns of a run row by kind, each sorted."""

    documents: list[bytes]
    events: list[bytes]
    commits: list[bytes]
    unknown: list[bytes]


class RunRowChecker:
    """Collects facts of run rows. With `once`, a cell that many runs need is added once, rarely twice."""

    def __init__(self, events: EventMerger, *, once: bool) -> None:
        self._events = events
        self._once = once
        self._programs: dict[bytes, ProgramFacts] = {}
        self._reported: set[tuple[bytes, int]] = set()

    def load_event_bodies(self, runs: Iterable[Row]) -> None:
        """Cache the bodies of all events of run rows with one read."""
        values = [cell for row in runs for column, cell in row.items() if column.startswith(layout.EVENT)]
        self._events.load_bodies(
            [field.decode(errors="replace") for value, _ in values for field in value.split(b"|")[1:]]
        )

    def collect(self, key: bytes, row: Row, endpoints: Endpoints, facts: RowFacts) -> None:
        """Add the facts of a run row to `facts`: the cells it needs or may have, and its own findings.

        Raises CorruptRow for a malformed key or column of a known kind, and for unreadable documents and
        events.
        """
        run = ranges.escaped_run_of(key)
        index_facts = self._decode_single_document(row)
        if index_facts is not None:
            self._add_indexes(run, index_facts, endpoints, facts.expected, facts.allowed)
            return
        columns = _columns_by_kind(key, row)
        facts.findings += unknown_columns(key, columns.unknown)
        altered = [column for column in (*columns.documents, *columns.events) if _is_altered(row, column)]
        facts.findings += [Finding(Kind.ALTERED, key, column.decode()) for column in altered[:1]]
        # Counts in columns have a fixed width, so the last sorted column has the highest one, which is valid.
        value = row[columns.commits[-1]].value if columns.commits else None
        faults = [] if altered else list(self._faults(key, row, columns, value))
        facts.findings += faults
        # A faulty row may compute wrong needs, so they are allowed but not expected. Neither a missing cell
        # nor a cell that no other run needs is reported. A run that was moved needs nothing here.
        sound = (
            layout.MOVED not in row and not altered and all(fault.kind is Kind.UNFINISHED for fault in faults)
        )
        needed = facts.expected if sound else facts.allowed
        index_facts = self._decode_commit(key, row, value)
        if columns.documents:
            latest = row[columns.documents[-1]].value
            self._program(key, row, latest)  # raises CorruptRow
            # Garbage collection keeps this content, since even an uncommitted document names it.
            needed.append(layout.content_row(run_rows.decode_head(latest).checksum))
        for event in run_rows.decode_events(row) if columns.events else ():
            facts.expected.append(layout.event_body_row(event.lineage_digest))
            facts.expected.append(layout.event_body_row(event.facts_digest))
        if index_facts is not None:
            self._add_indexes(run, index_facts, endpoints, needed, facts.allowed)

    def _decode_single_document(self, row: Row) -> RunIndexFacts | None:
        """Return the facts of a row with one valid document of a cached program and its commit, else None."""
        # Nearly all rows have this form, and this check avoids decoding them.
        if len(row) != 2:
            return None
        document, commit = sorted(row)
        value = row[document][0]
        fields = value.split(SEPARATOR, 3)
        # A hit means that the same names were decoded before, so they are valid.
        program = self._programs.get(fields[-1])
        value_digest = digest(value).encode()
        if (
            program is None
            or document != _FIRST_DOCUMENT + value_digest
            or not commit.startswith(_FIRST_COMMIT)
            or not value_digest.startswith(commit[len(_FIRST_COMMIT) :])
            or row[commit][0] != value
            or fields[2] not in _FAILED
            or not fields[1].isdigit()
        ):
            return None
        return RunIndexFacts(fields[0], int(fields[1]), _FAILED[fields[2]], program)

    def _decode_commit(self, key: bytes, row: Row, value: bytes | None) -> RunIndexFacts | None:
        """Return the facts of the run row `key` with that commit value, or None if missing or unreadable."""
        if value is None:
            return None
        # An unreadable commit record differs from the inputs, which is already a finding.
        try:
            head, program = run_rows.decode_head(value), self._program(key, row, value)
        except CorruptRow:
            return None
        return RunIndexFacts(head.checksum.encode(), head.start_ms, head.state.failed, program)

    def _add_indexes(
        self,
        run: bytes,
        index_facts: RunIndexFacts,
        endpoints: Endpoints,
        needed: list[bytes],
        allowed: list[bytes],
    ) -> None:
        """Add content, references, ways, day and index row to `needed`, or to `allowed` before a horizon.

        The run index needs the cell of the run's program, and may have cells of other programs.
        """
        # A purge removes a run's references for the datasets with an early cut-off (`d:h`) only.
        checksum, start_ms, failed, program = index_facts
        endpoint_keys = endpoints.get(layout.CONTENTS + checksum, ())
        column = layout.FAILED_REFERENCE if failed else layout.REFERENCE
        tail = b"%b|%b\n%b%b\n%b" % (inverted_start(start_ms), run, column, checksum, program.reference)
        for endpoint in endpoint_keys:
            (needed if start_ms >= endpoint.horizon_ms else allowed).append(endpoint.references + tail)
        tail = layout.escaped_run_index_tail(start_ms, run)
        allowed.append(run_index_row(tail))
        if program.index_prefix:
            needed.append(cell_text(program.index_prefix + tail, program.index_column))
        day = day_of(start_ms)
        content_day = checksum, day
        if content_day not in self._reported or needed is allowed:
            period = calendars.period_of(day)
            needed.append(layout.CONTENTS + checksum)
            text = checksum.decode(errors="replace")
            way = cell_text(calendars.way_tail(period, text), calendars.WAY)
            for endpoint in endpoint_keys:
                # Runs on the rest of the horizon's day stay, and the same way covers them.
                texts = needed if (day + 1) * DAY_MS > endpoint.horizon_ms else allowed
                texts.append(endpoint.ways + way)
            needed.append(token_text(calendars.calendar_row(text, period), day))
            if self._once and needed is not allowed:
                # Clearing only repeats some texts; hashes of equal texts are grouped anyway (decision 16).
                if len(self._reported) >= CACHED_MAX:
                    self._reported.clear()
                self._reported.add(content_day)

    def _program(self, key: bytes, row: Row, value: bytes) -> ProgramFacts:
        """Return the program facts of a run's rows. Raises CorruptRow if `value` is unreadable.

        `key` is the run row; `value` is a commit record or document in it.
        """
        if run_rows.is_head_only(value):
            return self._program_of_events(key, row)
        fields = value.split(SEPARATOR, 3)[-1]
        program = self._programs.get(fields)
        if program is None:
            committed = run_rows.decode_run(ranges.run_of(key), value)
            reference = run_rows.encode_program(committed.run)
            # Clear everything: tracking the order of use would take longer per run than decoding again.
            if len(self._programs) >= CACHED_MAX:
                self._programs.clear()
            program = self._programs[fields] = _program_facts(committed.run, reference)
        return program

    def _program_of_events(self, key: bytes, row: Row) -> ProgramFacts:
        """Return the program named by a run's events; unknown without events or their bodies."""
        events = run_rows.decode_events(row)
        if not events:
            return _UNKNOWN_PROGRAM
        try:
            merged = self._events.merge(ranges.run_of(key), events, {})
        except CorruptRow:
            # Missing and faulty event bodies have findings of their own.
            return _UNKNOWN_PROGRAM
        # References of runs recorded by events name no program.
        return _program_facts(merged.committed.run, b"")

    def _faults(self, key: bytes, row: Row, columns: RunColumns, value: bytes | None) -> Iterator[Finding]:
        """Yield at most one finding about a run's commit record; `value` is the valid record's, or None."""
        repair = Repair(key)
        commits, inputs = columns.commits, len(columns.documents) + len(columns.events)
        count = run_rows.count_in(commits[-1]) if commits else -1
        # Not an error: a writer may be between steps 3 and 5, or may have died there.
        if value is None or count < inputs:
            commit = f"commit of {count}" if commits else "no commit"
            yield Finding(Kind.UNFINISHED, key, f"{inputs} documents and events, {commit}", repair)
            return
        # The count of a new record exceeds the counts of different records (`commit_count`), unless two
        # writers derived different records from the same cells.
        rivals = [column for column in commits[:-1] if run_rows.count_in(column) == count]
        if any(row[column].value != value for column in rivals):
            yield Finding(Kind.COMMITS_CONFLICT, key, f"{len(rivals) + 1} commits of {count}", repair)
        elif not inputs:
            yield Finding(Kind.INPUT_MISSING, key, "a commit, but no document or event")
        elif not self._agrees(row, columns, value):
            # A count above the number of cells alone is not a fault: writers overtaken by a purge leave it.
            if inputs < count:
                detail = f"a commit of {count}, but {inputs} documents and events"
                yield Finding(Kind.INPUT_MISSING, key, detail)
            else:
                yield Finding(Kind.COMMIT_MISMATCH, key, commits[-1].decode(), repair)

    def _agrees(self, row: Row, columns: RunColumns, value: bytes) -> bool:
        """Return whether the commit record matches the inputs; True if event bodies cannot be read."""
        if columns.documents:
            return row[columns.documents[-1]].value == value
        try:
            return self._events.merged_head(run_rows.decode_events(row)) == value
        except CorruptRow:
            # Missing and faulty event bodies have findings of their own.
            return True


def _program_facts(run: ProgramRun, reference: bytes) -> ProgramFacts:
    """Return the facts of a run's program: `reference` as given, and prefix and column of the run index."""
    return ProgramFacts(
        reference, layout.run_index_prefix(run.namespace), layout.run_index_column(run.program)
    )


def _columns_by_kind(key: bytes, row: Row) -> RunColumns:
    """Return the columns of a run row by kind. Raises CorruptRow for malformed ones of a known kind."""
    columns = RunColumns([], [], [], [])
    for column in sorted(row):
        if _DOCUMENT.fullmatch(column):
            columns.documents.append(column)
        elif _EVENT.fullmatch(column):
            columns.events.append(column)
        elif _COMMIT.fullmatch(column):
            columns.commits.append(column)
        elif column == layout.MOVED:
            continue
        elif not is_known(key, column):
            columns.unknown.append(column)
        else:
            raise CorruptRow(f"{column!r} is malformed")
    return columns


def _is_altered(row: Row, column: bytes) -> bool:
    """Return whether a value no longer has the digest at the end of its document or event column."""
    # Columns of events and commit records have only the first digits of the digest.
    return not digest(row[column].value).encode().startswith(column.rpartition(b"|")[2])
