"""In-flight write of one run: the cells to put, and the commit record computed from its row."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fll_hbase.keys import layout
from fll_hbase.keys.codec import check_key_length
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import IncomingEvent, sort_events
from fll_hbase.model.runs import RecordedRun, RunKey
from fll_hbase.runtime import metrics
from fll_hbase.runtime.errors import CorruptRow, LineageError, StoreUnavailable
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.results import CommitResult
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.store.write import run_owner
from fll_hbase.store.write.batching import DocumentSequence, RunBatch
from fll_hbase.tables import Put, Row

Rejections: TypeAlias = dict[RunKey, LineageError]
"""Errors of runs that cannot be stored, by run."""


_log = logging.getLogger(__name__)

NAME_LENGTH_MAX = 100


@dataclass(slots=True, kw_only=True)
class PendingRun(ABC):
    """One run in flight; `load` reads the run row in step 1, `compute_commit` again in step 4.

    `cells` are to be put into the run row. `info` is the content, and `bodies` are the event bodies, to put
    before them. `previous_value` is the commit value that step 1 found. `commit_value` is the value of the
    commit record to put under `commit_count`, and `committed` is that value decoded. `program` is the value
    of the references, empty for a run recorded by events. `input_count` is the number of documents and events
    in the row. `derived_info` is the content of all events merged in step 4, which may differ from `info`.
    `former_days` are the days on which the run counted when step 4 read its row. `key` is the row of
    `stored`, which equals `run` unless an earlier release recorded the run. `is_moved` is whether a repair
    moved the run before step 4.
    """

    run: RunKey
    key: bytes = field(init=False)
    stored: RunKey = field(init=False)
    info: FieldLineageInfo | None = None
    cells: list[Put] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    previous_value: bytes | None = None
    input_count: int = 0
    commit_count: int = 0
    committed: CommittedRun | None = None
    commit_value: bytes = b""
    program: bytes = b""
    derived_info: FieldLineageInfo | None = None
    former_days: Collection[ContentDay] = ()
    is_moved: bool = False

    def store_in(self, row: RunKey) -> None:
        """Write to this row, into which an earlier release put the run, or a repair moved it."""
        self.stored, self.key = row, layout.run_row(*row)

    @property
    def former(self) -> RunKey | None:
        """Return the key of the run in an earlier release, or None if it had the same key."""
        return RunKey(self.run.run) if self.run.namespace else None

    def last_puts(self) -> Sequence[Put]:
        """Return the puts that follow the commit record."""
        return ()

    def counted_in(self, row: Row) -> Sequence[Row]:
        """Return the rows whose commit records say where the run counted before, given its current row."""
        return (row,)

    def __post_init__(self) -> None:
        self.store_in(self.run)

    @abstractmethod
    def load(self, row: Row, events: EventMerger) -> None:
        """Set `cells` to the inputs that the current run row lacks, none for a resend (step 1).

        Raises TooLarge, CorruptRow, or RunIdConflict for a run of another program.
        """

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Set the commit record from the latest document of the row, whichever writer put it (step 4).

        Raises StoreUnavailable if the row has no document, though one was put, or CorruptRow.
        """
        # Accept any writer's document: the next writer completes one that died between steps 3 and 5.
        latest = run_rows.latest_document(row)
        if latest is None:
            raise StoreUnavailable(
                f"run {self.run.run!r}: a cell that was put is missing; check the store and try again"
            )
        self.commit_value = latest.value
        self.committed = run_rows.decode_run(self.stored, latest.value)
        self.program = run_rows.encode_program(self.committed.run)
        self._count(row)

    def _count(self, row: Row) -> None:
        """Set `input_count` from the run row, and `commit_count` for `commit_value`."""
        self.input_count = run_rows.input_count(row)
        self.commit_count = run_rows.commit_count(row, self.commit_value, inputs=self.input_count)

    @abstractmethod
    def put_again(self) -> None:
        """Add stored inputs of this call to `cells`, because they may be deleted after a slow pass."""

    @abstractmethod
    def append_again(self) -> None:
        """Add the run's own input to `cells` again, after a latest document whose content was deleted.

        Does nothing for events. Raises CorruptRow for a re-commit, which has no input of its own.
        """

    @abstractmethod
    def results(self) -> Sequence[CommitResult | LineageError]:
        """Return one result or error for each input, in their order."""


@dataclass(slots=True, kw_only=True)
class PendingDocument(PendingRun):
    """One document that describes a whole run.

    Unless `replaces_others`, it replaces only a run of its own program. `overtaken_by` is the document of
    another program that committed the run between steps 1 and 4. `cell` is the last cell put, or found
    stored. `resent` is whether this document, or a later document of the call, was already committed.
    """

    document: CommittedRun
    value: bytes
    sequence: DocumentSequence
    cell: Put | None = None
    replaces_others: bool = False
    number: int = 1
    resent: bool = False
    overtaken_by: bytes | None = None

    def store_in(self, row: RunKey) -> None:
        """Write the document to this row."""
        PendingRun.store_in(self, row)
        if row != self.document.key:
            self.document = self.document._replace(key=row)

    def load(self, row: Row, events: EventMerger) -> None:
        """Set `cells` to the document under the next number, or to none if the last documents are resent."""
        self.previous_value = run_rows.commit_value(row)
        # Check before any cell is put. A usual resend equals the commit record, which then needs no decoding.
        if not self.replaces_others and self.previous_value not in (None, self.value):
            owner = run_owner.owner_of(self.stored, self.previous_value)
            if owner not in (None, self.document.run.program_id):
                raise run_owner.conflict(self.run.run, owner)
        latest = run_rows.latest_document(row)
        self.number = latest.number + 1 if latest else 1
        stored = latest is not None and self.sequence.is_suffix_of(run_rows.document_values(row))
        if stored:
            self.cell, self.cells = run_rows.stored_document(self.key, row, self.value), []
        else:
            self._append(self.value)
        # Being stored is not enough: a call interrupted before step 5 left the document without a commit
        # record, and this call then records it.
        self.resent = stored and self.previous_value in self.sequence.values[self.sequence.position :]

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Compute the commit record of the latest document.

        If another program committed the run since step 1, sets no record but `overtaken_by`.
        """
        latest = run_rows.latest_document(row)
        # Usually the latest document is the one just written, which need not be decoded.
        if latest is None or latest.value != self.value:
            PendingRun.compute_commit(self, row, events)
        elif (overtaken_by := self._commit_of_another_program(row)) is not None:
            # Without a state to commit, the pass starts over with the cell from `append_again`.
            self.overtaken_by, self.committed = overtaken_by, None
        else:
            self.committed, self.commit_value = self.document, self.value
            self.program = run_rows.encode_program(self.document.run)
            self._count(row)
        # `append_again` must exceed the number of another writer's document, too.
        self.number = latest.number if latest else self.number

    def put_again(self) -> None:
        """Set `cells` to the document's existing cell, with the same number.

        Under the next number, this put could follow a resend that gave this number to a later document.
        """
        self.cells = [self.cell] if self.cell else []

    def append_again(self) -> None:
        """Add the document, or the one that overtook it, to `cells` again, with the next number."""
        self.number += 1
        self._append(self.value if self.overtaken_by is None else self.overtaken_by)

    def _append(self, value: bytes) -> None:
        """Set `cells` to a new cell for this value under the current number."""
        self.cell = run_rows.document_put(self.key, self.number, value)
        self.cells = [self.cell]

    def _commit_of_another_program(self, row: Row) -> bytes | None:
        """Return another program's document committed since step 1, or None, as with `replaces_others`."""
        value = run_rows.commit_value(row)
        if self.replaces_others or value in (self.value, self.previous_value):
            return None
        owner = run_owner.owner_of(self.stored, value)
        return None if owner in (None, self.document.run.program_id) else value

    def results(self) -> list[CommitResult | LineageError]:
        """Return the single result: RunIdConflict if another program owns it, unless `replaces_others`."""
        owner = self.committed.run.program_id if self.committed else self.document.run.program_id
        if owner != self.document.run.program_id and not self.replaces_others:
            return [run_owner.conflict(self.run.run, owner)]
        previous = self.previous_value
        replaced = not self.resent and previous is not None and previous != self.value
        return [CommitResult(self.document.checksum, self.run.run, not self.resent, replaced)]


@dataclass(slots=True, kw_only=True)
class PendingEvents(PendingRun):
    """Events of one run; `puts` are their cells, in order, and `new_columns` those that the row lacked."""

    incoming: Sequence[IncomingEvent]
    puts: Sequence[Put] = ()
    new_columns: frozenset[bytes] = frozenset()

    def load(self, row: Row, events: EventMerger) -> None:
        """Set `cells` to the events that the row lacks, and `info` to the content of all events merged.

        `info` stays None for a row with a document, which has priority over events.
        """
        self.previous_value = run_rows.commit_value(row)
        # Columns contain the digest of the value, so equal columns mean equal events, in the call or the row.
        self.puts = [run_rows.event_put(self.key, incoming.event) for incoming in self.incoming]
        puts = {put.column: put for put in self.puts}
        self.cells = [put for column, put in puts.items() if column not in row]
        self.new_columns = frozenset(put.column for put in self.cells)
        # If a row has documents, its events are ignored. Otherwise, merge the content before putting the
        # event's cell, so that an event that is too large to store is refused without a trace (decision 12).
        if run_rows.latest_document(row) is None:
            stored = run_rows.decode_events(row)
            merged = events.merge(
                self.stored,
                sort_events({*stored, *(incoming.event for incoming in self.incoming)}),
                self.bodies,
            )
            _check_size(merged.info, merged.committed)
            self.info = merged.info

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Merge all events, or take the latest document. Raises StoreUnavailable if the row has neither."""
        if run_rows.latest_document(row) is not None:
            PendingRun.compute_commit(self, row, events)
            return
        stored = run_rows.decode_events(row)
        if not stored:
            raise StoreUnavailable(
                f"run {self.run.run!r}: an event that was put is missing; check the store and try again"
            )
        # Merge all events, not only the new ones: the record depends only on their set (decision 12).
        self.committed, self.derived_info = events.merge(self.stored, stored, self.bodies)
        self.commit_value = run_rows.encode_head(run_rows.head_of(self.committed))
        self._count(row)

    def put_again(self) -> None:
        """Add all events to `cells`, even stored ones; equal events have equal cells."""
        self.cells = list({put.column: put for put in self.puts}.values())

    def append_again(self) -> None:
        """Change nothing: a merge ignores the order of arrival, so the next pass merges the row again."""

    def results(self) -> list[CommitResult]:
        """Return one result per event, in their order: new if the row lacked it and no equal one precedes."""
        checksum = self.committed.checksum if self.committed else ""
        new_columns = set(self.new_columns)
        results = []
        for put in self.puts:
            results.append(CommitResult(checksum, self.run.run, put.column in new_columns, False))
            new_columns.discard(put.column)
        return results


@dataclass(slots=True, kw_only=True)
class PendingRecommit(PendingEvents):
    """A stored run whose commit record, references, ways and day are put again."""

    def load(self, row: Row, events: EventMerger) -> None:
        """Change nothing: no input is added."""

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Compute the commit record as for events. Raises CorruptRow if the row has no document or event."""
        if not run_rows.input_count(row):
            raise CorruptRow(f"run {self.run.run!r}: the row has no document and no event")
        PendingEvents.compute_commit(self, row, events)

    def append_again(self) -> None:
        """Raise CorruptRow: the content was deleted, and a re-commit has no document from a client."""
        raise CorruptRow(f"run {self.run.run!r}: the content is missing; record the run again")


@dataclass(slots=True, kw_only=True)
class PendingMove(PendingRecommit):
    """A run of an earlier release to put into its current row, given with its former row."""

    former_row: Row

    @property
    def former(self) -> RunKey | None:
        """Return None, because the run does not stay in its former row."""
        return None

    def load(self, row: Row, events: EventMerger) -> None:
        """Set `cells` to the inputs of the former row that the current one lacks."""
        self.cells = [put for put in self._inputs() if put.column not in row]

    def put_again(self) -> None:
        """Set `cells` to all inputs of the former row."""
        self.cells = list(self._inputs())

    def _inputs(self) -> Iterator[Put]:
        """Yield the documents and events of the former row, as puts into the new one."""
        for column, cell in self.former_row.items():
            if column.startswith((layout.DOCUMENT, layout.EVENT)):
                yield Put(self.key, column, cell.value)

    def last_puts(self) -> Sequence[Put]:
        """Return the mark of the former row. Before the commit record, the run would be in neither row."""
        return (Put(layout.run_row(self.run.run), layout.MOVED, b""),)

    def counted_in(self, row: Row) -> Sequence[Row]:
        """Return the current and the former row: the seals of days counted in either must become invalid."""
        return row, self.former_row


def pending_run(batch: RunBatch) -> PendingRun:
    """Return the inputs of a batch as a run in flight. Raises TooLarge if a cell or key exceeds its limit.

    Only the bodies of events are checked here, while `load` checks the merged run.
    """
    first = batch.inputs[0]
    if isinstance(first, RecordedRun):
        document = CommittedRun(first.info.checksum, first.run, batch.run)
        value = _check_size(first.info, document)
        return PendingDocument(
            run=batch.run,
            info=first.info,
            document=document,
            value=value,
            sequence=batch.sequence or DocumentSequence((value,), 0),
            replaces_others=first.replaces_others,
        )
    incoming = [event for event in batch.inputs if isinstance(event, IncomingEvent)]
    bodies = {digest: body for event in incoming for digest, body in event.bodies.items()}
    for digest, body in bodies.items():
        run_rows.event_body_put(digest, body)  # raises TooLarge
    return PendingEvents(run=batch.run, bodies=bodies, incoming=incoming)


def _check_size(info: FieldLineageInfo, committed: CommittedRun) -> bytes:
    """Return the encoded run. Raises TooLarge if the run, or one of its keys, cannot be stored."""
    # References and the run index are put after the run row's cell, so a key that is too long fails here.
    endpoints = ContentEndpoints(info.checksum, info.sources, info.destinations)
    tail = layout.reference_tail(committed.run.start_ms, *committed.key)
    prefixes = run_rows.longest_prefix_bytes(endpoints), len(layout.run_index_prefix(committed.run.namespace))
    check_key_length(b" " * max(prefixes) + tail)
    return run_rows.encode_run(committed)


def report_pass(pending: Sequence[PendingRun]) -> None:
    """Count a finished pass; log it if runs in `pending` were not committed and start over."""
    metrics.PASSES.add()
    if not pending:
        return
    metrics.RESTARTS.add()
    others = f" and {len(pending) - 1} more" if len(pending) > 1 else ""
    _log.warning(
        "the commit of run %r%s starts over: another writer changed it, or it took too long",
        pending[0].run.run[:NAME_LENGTH_MAX],
        others,
    )
