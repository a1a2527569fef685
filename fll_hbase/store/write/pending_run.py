"""In-flight write of one run: the cells to put, and the commit record computed from its row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fll_hbase.errors import CorruptRow, LineageError, StoreUnavailable
from fll_hbase.keys import layout
from fll_hbase.keys.codec import check_key_length
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import IncomingEvent, sort_events
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store import run_rows
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.batching import DocumentSequence, RunBatch
from fll_hbase.tables import Put, Row

Rejections: TypeAlias = dict[str, LineageError]
"""Errors of runs that cannot be stored, by run id."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """An acknowledged run, or event of a run.

    `recorded` is false for a duplicate of what is stored, `replaced` is true if other content was replaced.
    """

    checksum: str
    run: str
    recorded: bool
    replaced: bool


@dataclass(slots=True, kw_only=True)
class PendingRun(ABC):
    """One run in flight; `load` fills it from the run row, `compute_commit` again after its cells are put.

    `cells` are to be put into the run row, `info` is the content and `bodies` are the event bodies to put
    before them. `commit_value` is what the row amounts to at `commit_count` documents and events,
    `committed` the same decoded. `derived_info` is the content of a merge of events, which may be new.
    """

    run: str
    key: bytes
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

    @abstractmethod
    def load(self, row: Row, events: EventMerger) -> None:
        """Step 1: compute the cells to put from the row as it is. Raises TooLarge or CorruptRow."""

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Step 4: compute the commit record of the row, whoever wrote its documents.

        Raises StoreUnavailable if a cell that was put is not in the row, or CorruptRow.
        """
        latest = run_rows.latest_document(row)
        if latest is None:
            raise StoreUnavailable(
                f"run {self.run!r}: a cell that was put is missing; check the store and try again"
            )
        self.commit_value = latest.value
        self.committed = run_rows.decode_run(self.run, latest.value)
        self.program = run_rows.encode_program(self.committed.run)
        self._count(row)

    def _count(self, row: Row) -> None:
        self.input_count = run_rows.input_count(row)
        self.commit_count = run_rows.commit_count(row, self.commit_value)

    @abstractmethod
    def append_again(self) -> None:
        """Put the own input once more, behind a latest document whose content was swept."""

    @abstractmethod
    def results(self) -> list[CommitResult]:
        """Return one result for each input, in their order."""


@dataclass(slots=True, kw_only=True)
class PendingDocument(PendingRun):
    """One document that describes a whole run."""

    document: CommittedRun
    value: bytes
    sequence: DocumentSequence
    number: int = 1
    resent: bool = False

    def load(self, row: Row, events: EventMerger) -> None:
        """Number the document behind the latest one; a resend of the last documents adds no cell."""
        self.previous_value = run_rows.commit_value(row)
        latest = run_rows.latest_document(row)
        self.number = latest.number + 1 if latest else 1
        stored = latest is not None and self.sequence.is_suffix_of(run_rows.document_values(row))
        self.cells = [] if stored else [run_rows.document_put(self.key, self.number, self.value)]
        self.resent = stored and self.previous_value in self.sequence.values[self.sequence.position :]

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Fast path: the latest document is usually the one just written, and need not be decoded."""
        latest = run_rows.latest_document(row)
        if latest is None or latest.value != self.value:
            PendingRun.compute_commit(self, row, events)
        else:
            self.committed, self.commit_value = self.document, self.value
            self.program = run_rows.encode_program(self.document.run)
            self._count(row)
        self.number = latest.number if latest else self.number

    def append_again(self) -> None:
        """Put the document once more, under the next number."""
        self.number += 1
        self.cells = [run_rows.document_put(self.key, self.number, self.value)]

    def results(self) -> list[CommitResult]:
        """Return the one result."""
        previous = self.previous_value
        replaced = not self.resent and previous is not None and previous != self.value
        return [CommitResult(self.document.checksum, self.run, not self.resent, replaced)]


@dataclass(slots=True, kw_only=True)
class PendingEvents(PendingRun):
    """Events of one run."""

    incoming: Sequence[IncomingEvent]
    new_columns: frozenset[bytes] = frozenset()

    def load(self, row: Row, events: EventMerger) -> None:
        """Select the events whose cells are not stored; merge them with the stored ones into a content."""
        self.previous_value = run_rows.commit_value(row)
        puts = {put.column: put for put in map(self._put, self.incoming)}
        self.cells = [put for column, put in puts.items() if column not in row]
        self.new_columns = frozenset(put.column for put in self.cells)
        if run_rows.latest_document(row) is None:
            stored = run_rows.decode_events(row)
            merged = events.merge(
                self.run,
                sort_events({*stored, *(incoming.event for incoming in self.incoming)}),
                self.bodies,
            )
            _check_size(merged.info, merged.committed)
            self.info = merged.info

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Merge all events of the row; a document in the row describes the whole run and wins over events."""
        if run_rows.latest_document(row) is not None:
            PendingRun.compute_commit(self, row, events)
            return
        stored = run_rows.decode_events(row)
        if not stored:
            raise StoreUnavailable(
                f"run {self.run!r}: an event that was put is missing; check the store and try again"
            )
        self.committed, self.derived_info = events.merge(self.run, stored, self.bodies)
        self.commit_value = run_rows.encode_head(run_rows.head_of(self.committed))
        self._count(row)

    def append_again(self) -> None:
        """Change nothing: events have no order of arrival, so the next pass reads the row again."""

    def results(self) -> list[CommitResult]:
        """Return one result for each event, in the order given; of equal events the first is the new one."""
        checksum = self.committed.checksum if self.committed else ""
        new_columns = set(self.new_columns)
        results = []
        for incoming in self.incoming:
            column = self._put(incoming).column
            results.append(CommitResult(checksum, self.run, column in new_columns, False))
            new_columns.discard(column)
        return results

    def _put(self, incoming: IncomingEvent) -> Put:
        return run_rows.event_put(self.key, incoming.event)


@dataclass(slots=True, kw_only=True)
class PendingRecommit(PendingEvents):
    """A stored run whose commit record, references and index rows are put again."""

    def load(self, row: Row, events: EventMerger) -> None:
        """Change nothing: no input is added."""

    def compute_commit(self, row: Row, events: EventMerger) -> None:
        """Compute the commit record as for events. Raises CorruptRow if the row has no document or event."""
        if not run_rows.input_count(row):
            raise CorruptRow(f"run {self.run!r}: the row has no document and no event")
        PendingEvents.compute_commit(self, row, events)

    def append_again(self) -> None:
        """Raise CorruptRow: the document was swept with its content, and there is no sender to repeat it."""
        raise CorruptRow(f"run {self.run!r}: its content is missing; record the run again")


def recommit_of(run: str) -> PendingRecommit:
    """Return the re-commit of a stored run."""
    return PendingRecommit(run=run, key=layout.run_row(run), incoming=())


def pending_run(batch: RunBatch) -> PendingRun:
    """Return the inputs of a batch as a run in flight. Raises TooLarge if no row can hold them."""
    first = batch.inputs[0]
    if isinstance(first, RecordedRun):
        return _pending_document(first, batch.sequence)
    return _pending_events([event for event in batch.inputs if isinstance(event, IncomingEvent)])


def _pending_document(recorded: RecordedRun, sequence: DocumentSequence | None) -> PendingDocument:
    document = CommittedRun(recorded.info.checksum, recorded.run)
    value = _check_size(recorded.info, document)
    run = document.run.run
    return PendingDocument(
        run=run,
        key=layout.run_row(run),
        info=recorded.info,
        document=document,
        value=value,
        sequence=sequence or DocumentSequence((value,), 0),
    )


def _pending_events(incoming: Sequence[IncomingEvent]) -> PendingEvents:
    run = incoming[0].run
    bodies = {digest: body for event in incoming for digest, body in event.bodies.items()}
    for digest, body in bodies.items():
        run_rows.event_body_put(digest, body)  # raises TooLarge
    return PendingEvents(run=run, key=layout.run_row(run), bodies=bodies, incoming=incoming)


def _check_size(info: FieldLineageInfo, committed: CommittedRun) -> bytes:
    """Return the encoded run. Raises TooLarge if it, or the longest reference key, cannot be stored."""
    endpoints = ContentEndpoints(info.checksum, info.sources, info.destinations)
    tail = layout.reference_tail(committed.run.start_ms, committed.run.run)
    check_key_length(b" " * run_rows.longest_prefix_bytes(endpoints) + tail)
    return run_rows.encode_run(committed)
