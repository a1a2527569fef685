"""What is on its way into a run row: one document, or events told of the run, and what they come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from fll_hbase.errors import CorruptRow, StoreUnavailable, TooLarge
from fll_hbase.keys import layout
from fll_hbase.keys.codec import measured
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import ToldEvent, in_order
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store import run_rows
from fll_hbase.store.read.event_merge import Folds
from fll_hbase.store.run_rows import Ends, Truth
from fll_hbase.tables import Put, Row


@dataclass(frozen=True, slots=True)
class Recorded:
    """An acknowledged run, or event of a run.

    `recorded` is false for the very same again, `replaced` is true where it said something else before.
    """

    checksum: str
    run: str
    recorded: bool
    replaced: bool


@dataclass(slots=True)
class Begin:
    """Before how many documents of a row a course begins; -1 until it was looked for."""

    at: int = -1


@dataclass(frozen=True, slots=True)
class Course:
    """The values of all documents of one run that are recorded together, and which of them this one is.

    All of them share where it begins: one may say what another said before it, and is not known by that.
    """

    values: Sequence[bytes]
    place: int
    begin: Begin = field(default_factory=Begin)

    def runs_to_the_end_of(self, stored: Sequence[bytes]) -> bool:
        """Whether the documents stored end with this one and some of those after it: it is there already."""
        ends = self._ends(stored)
        if self.begin.at < 0:
            self.begin.at = max(0, min(ends, default=len(stored)) - self.place)
        return any(end >= self.begin.at + self.place for end in ends)

    def _ends(self, stored: Sequence[bytes]) -> list[int]:
        """The places from which on the documents stored are this one and some of those after it."""
        left = self.values[self.place :]
        lengths = range(1, min(len(stored), len(left)) + 1)
        return [
            len(stored) - length
            for length in lengths
            if stored[-length] == left[0] and list(stored[-length:]) == list(left[:length])
        ]


@dataclass(slots=True, kw_only=True)
class Pending(ABC):
    """One run on its way. `cells` are its own and to be put, `info` is the content that goes before them.

    `truth`, `truth_value` and `program` are what all that the row holds comes to, and `count` the number
    under which that is true; `said` is how many documents and events it holds. Of the content of the truth,
    `derived` is known where nobody may have put it yet.
    """

    run: str
    key: bytes
    info: FieldLineageInfo | None = None
    cells: list[Put] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    before: bytes | None = None
    said: int = 0
    count: int = 0
    truth: Truth | None = None
    truth_value: bytes = b""
    program: bytes = b""
    derived: FieldLineageInfo | None = None

    @abstractmethod
    def look(self, row: Row, folds: Folds) -> None:
        """Take note of the row as it is before anything is put. Raises TooLarge."""

    def derive(self, row: Row, folds: Folds) -> None:
        """Take note of what the row comes to. Raises StoreUnavailable where what was just put is not there."""
        latest = run_rows.latest_document(row)
        if latest is None:
            raise StoreUnavailable(
                f"run {self.run!r}: a cell just put is not there; check the store, try again"
            )
        self.truth_value = latest.value
        self.truth = run_rows.decoded(self.run, latest.value)
        self.program = run_rows.program_of(self.truth.run)
        self._count(row)

    def _count(self, row: Row) -> None:
        self.said, self.count = run_rows.said_count(row), run_rows.truth_count(row, self.truth_value)

    @abstractmethod
    def supersede(self) -> None:
        """What counts now cannot be found any more: say the own again, after it."""

    @abstractmethod
    def answers(self) -> list[Recorded]:
        """What the senders are told."""


@dataclass(slots=True, kw_only=True)
class PendingDocument(Pending):
    """One whole document."""

    own: Truth
    value: bytes
    course: Course
    number: int = 1
    resent: bool = False

    def look(self, row: Row, folds: Folds) -> None:
        """A resend of the latest document, or of the latest few, adds no cell."""
        self.before = run_rows.truth_value(row)
        latest = run_rows.latest_document(row)
        self.number = latest.number + 1 if latest else 1
        known = latest is not None and self.course.runs_to_the_end_of(run_rows.document_values(row))
        self.cells = [] if known else [run_rows.document_put(self.key, self.number, self.value)]
        self.resent = known and self.before in self.course.values[self.course.place :]

    def derive(self, row: Row, folds: Folds) -> None:
        """As it is for any run; what counts is mostly the own document."""
        latest = run_rows.latest_document(row)
        if latest is None or latest.value != self.value:
            Pending.derive(self, row, folds)
        else:
            self.truth, self.truth_value = self.own, self.value
            self.program = run_rows.program_of(self.own.run)
            self._count(row)
        self.number = latest.number if latest else self.number

    def supersede(self) -> None:
        """The own document once more, under the next number."""
        self.number += 1
        self.cells = [run_rows.document_put(self.key, self.number, self.value)]

    def answers(self) -> list[Recorded]:
        """One answer."""
        replaced = not self.resent and self.before is not None and self.before != self.value
        return [Recorded(self.own.checksum, self.run, not self.resent, replaced)]


@dataclass(slots=True, kw_only=True)
class PendingEvents(Pending):
    """Events that tell of one run."""

    told: Sequence[ToldEvent]
    new: frozenset[bytes] = frozenset()

    def look(self, row: Row, folds: Folds) -> None:
        """An event that is there already adds no cell; the others come to something with what is there."""
        self.before = run_rows.truth_value(row)
        puts = {put.column: put for put in map(self._put, self.told)}
        self.cells = [put for column, put in puts.items() if column not in row]
        self.new = frozenset(put.column for put in self.cells)
        if run_rows.latest_document(row) is None:
            told_of = in_order({*run_rows.events_of(row), *(told.event for told in self.told)})
            folded = folds.folded(self.run, told_of, self.texts)
            _must_fit(folded.info, folded.truth)
            self.info = folded.info

    def derive(self, row: Row, folds: Folds) -> None:
        """A whole document says all of a run; without one it is what the events come to."""
        if run_rows.latest_document(row) is not None:
            Pending.derive(self, row, folds)
            return
        told_of = run_rows.events_of(row)
        if not told_of:
            raise StoreUnavailable(
                f"run {self.run!r}: an event just put is not there; check the store, try again"
            )
        self.truth, self.derived = folds.folded(self.run, told_of, self.texts)
        self.truth_value = run_rows.head_of(self.truth)
        self._count(row)

    def supersede(self) -> None:
        """Events come after nothing: they stay as they are, and are read again."""

    def answers(self) -> list[Recorded]:
        """One answer for each event, in the order given."""
        checksum = self.truth.checksum if self.truth else ""
        new = set(self.new)
        answers = []
        for told in self.told:
            column = self._put(told).column
            answers.append(Recorded(checksum, self.run, column in new, False))
            new.discard(column)
        return answers

    def _put(self, told: ToldEvent) -> Put:
        return run_rows.event_put(self.key, told.event)


@dataclass(slots=True, kw_only=True)
class PendingNothing(PendingEvents):
    """Nothing new: what the row holds is made true once more."""

    def look(self, row: Row, folds: Folds) -> None:
        """There is nothing that it could be compared with."""

    def derive(self, row: Row, folds: Folds) -> None:
        """As for any events. Raises CorruptRow where there is nothing to derive from."""
        if not run_rows.said_count(row):
            raise CorruptRow(f"run {self.run!r}: it holds no document and no event")
        PendingEvents.derive(self, row, folds)

    def supersede(self) -> None:
        """Raises CorruptRow: nobody is here who could say it again."""
        raise CorruptRow(f"run {self.run!r}: its content is gone; record the run again")


def of_nothing(run: str) -> PendingNothing:
    """A run row that is to be made true as it is."""
    return PendingNothing(run=run, key=layout.run_row(run), told=())


def of_document(recorded: RecordedRun, course: Course | None = None) -> PendingDocument:
    """The run on its way, alone or in a course of documents. Raises TooLarge where no row holds it."""
    own = Truth(recorded.info.checksum, recorded.run)
    value = _must_fit(recorded.info, own)
    return PendingDocument(
        run=own.run.run,
        key=layout.run_row(own.run.run),
        info=recorded.info,
        own=own,
        value=value,
        course=course or Course((value,), 0),
    )


def value_of(recorded: RecordedRun) -> bytes:
    """The value that is stored of a document; empty for one that no row holds, which is never stored."""
    try:
        return run_rows.encoded(Truth(recorded.info.checksum, recorded.run))
    except TooLarge:
        return b""


def of_events(told: Sequence[ToldEvent]) -> PendingEvents:
    """Events of one run on their way. Raises TooLarge where no row holds them."""
    run = told[0].run
    texts = {digest: text for one in told for digest, text in one.texts.items()}
    for digest, text in texts.items():
        run_rows.part_put(digest, text)
    return PendingEvents(run=run, key=layout.run_row(run), texts=texts, told=told)


def _must_fit(info: FieldLineageInfo, truth: Truth) -> bytes:
    """The value of the truth. Raises TooLarge where it, or a reference to the run, cannot be stored."""
    ends = Ends(info.checksum, info.sources, info.destinations)
    tail = layout.reference_tail(truth.run.start_ms, truth.run.run)
    measured(b" " * run_rows.longest_prefix_bytes(ends) + tail)
    return run_rows.encoded(truth)
