"""How does a run become rows that survive anything: the recording pass and its barriers.

Content first, then the own cell of a document or event in the run row; what all cells of that row come to
is derived, its index rows and references are put, and last the truth. Each step is a barrier. The run row is
read again at the end: if another writer came between, the pass starts over. docs/row-keys.md says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from cachetools import LRUCache

from fll_hbase.errors import ChecksumConflict, CorruptRow, LineageError, StoreUnavailable, TooLarge
from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import Event, Facts, Part, ToldEvent
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.content_rows import Content
from fll_hbase.store.read.event_merge import Folds
from fll_hbase.store.run_rows import Ends, Truth
from fll_hbase.store.write import pending_run as on_the_way
from fll_hbase.store.write.pending_run import Begin, Course, Pending, PendingEvents, Recorded
from fll_hbase.tables import Batch, Put, Row, Sync, Table

CHUNK_RUNS_MAX = 2_000
PASSES_MAX = 50

Said: TypeAlias = RecordedRun | ToldEvent
"""What is recorded: a whole run, or an event that tells of one."""

Refused: TypeAlias = dict[str, LineageError]
"""Why runs, by their ids, cannot be stored."""

__all__ = ["Recorded", "Recording", "RunTold", "Said"]


@dataclass(frozen=True, slots=True)
class RunTold:
    """The truth about a run; and where events told of it those, in order, what they say, and their facts."""

    truth: Truth
    events: tuple[Event, ...] = ()
    part: Part | None = None
    facts: tuple[Facts, ...] = ()


class Recording:
    """Records runs into a table. Threads may share it.

    `clock` gives milliseconds since 1970. Content older than half of `grace_ms` is written again, and a pass
    that takes as long starts over, because a sweep may delete content that no run names for that long.
    """

    def __init__(self, table: Table, folds: Folds, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._folds = folds
        self._clock = clock
        self._half_grace_ms = grace_ms // 2
        self._known = _Known()

    def record(self, said: Sequence[Said]) -> list[Recorded | LineageError]:
        """Record all, in order; one answer for each. Raises StoreUnavailable: then any of them may have landed.

        What is answered by an error stored nothing that a question could find. Documents of one run that
        were recorded before, in this order and last, are known again: all of them may be sent once more.
        """
        answers: dict[int, Recorded | LineageError] = {}
        courses = _courses(said)
        for chunk in _chunks(said):
            together = [
                _Together([said[number] for number in numbers], courses.get(numbers[0])) for numbers in chunk
            ]
            answers |= zip(chain.from_iterable(chunk), self._record(together), strict=True)
        return [answers[number] for number in range(len(said))]

    def settle(self, runs: Sequence[str]) -> Refused:
        """Make what run rows hold true once more: its hints, and its truth. Returns why some cannot be.

        Raises StoreUnavailable.
        """
        refused: Refused = {}
        runs = sorted(set(runs))
        for begin in range(0, len(runs), CHUNK_RUNS_MAX):
            self._pass(list(map(on_the_way.of_nothing, runs[begin : begin + CHUNK_RUNS_MAX])), refused)
        return refused

    def told(self, runs: Sequence[str]) -> dict[str, RunTold]:
        """What was told of runs; those are left out of which nothing was, or no pass has finished yet."""
        keys = {layout.run_row(run): run for run in runs}
        read = self._table.rows(list(keys), columns=(layout.LIGHT,))
        found = {keys[key]: row for key, row in read.items()}
        told = {}
        for run, truth in self._folds.truths(found).items():
            events_ = run_rows.events_of(found[run])
            part, facts = self._folds.said(events_) if events_ else (None, [])
            told[run] = RunTold(truth, tuple(events_), part, tuple(facts))
        return told

    def _record(self, chunk: Sequence[_Together]) -> list[Recorded | LineageError]:
        refused: Refused = {}
        every = [_pending(together, refused) for together in chunk]
        self._pass([run for run in every if run is not None], refused)
        return [
            answer
            for together, run in zip(chunk, every, strict=True)
            for answer in _answers(together.said, run, refused)
        ]

    def _pass(self, every: Sequence[Pending], refused: Refused) -> None:
        """All steps, as often as others come between. Raises StoreUnavailable."""
        pending = self._looked(every, refused)
        for _ in range(PASSES_MAX):
            began = self._clock()
            contents = self._contents_to_put({run.run: run.info for run in pending}, began, refused)
            parts = self._parts_to_put(pending, began, refused)
            pending = [run for run in pending if run.run not in refused]
            try:
                self._announce(pending, *_of_these(pending, contents, parts), began)
                pending = self._finish(pending, began, refused)
            except _Late:
                continue
            if not pending:
                return
        raise StoreUnavailable(f"run {pending[0].run!r} is being written by others all the time; try again")

    def _looked(self, every: Sequence[Pending], refused: Refused) -> list[Pending]:
        """Look at the run rows as they are."""
        for run, row in self._run_rows(every):
            try:
                run.look(row, self._folds)
            except (TooLarge, CorruptRow) as error:
                refused[run.run] = error
        return [run for run in every if run.run not in refused]

    def _contents_to_put(
        self, infos: Mapping[str, FieldLineageInfo | None], now_ms: int, refused: Refused
    ) -> list[Content]:
        """The contents that the table lacks or that grow old; a run whose content does not fit is refused."""
        missing = []
        by_checksum = {info.checksum: info for info in infos.values() if info is not None}
        faulty: dict[str, LineageError] = {}
        for checksum, info in by_checksum.items():
            if self._known.fresh(checksum, now_ms):
                continue
            try:
                content = content_rows.content_of(info)
                if not self._stored(content, now_ms):
                    missing.append(content)
            except (ChecksumConflict, TooLarge) as error:
                faulty[checksum] = error
        if faulty:
            refused |= {
                run: faulty[info.checksum] for run, info in infos.items() if info and info.checksum in faulty
            }
        return missing

    def _stored(self, content: Content, now_ms: int) -> bool:
        """Whether the table holds the content and it is young enough to be relied on."""
        checksum = content.ends.checksum
        row = self._table.get(layout.data_row(checksum))
        if not row:
            return False
        if not content_rows.same_content(row, content):
            raise ChecksumConflict(
                f"checksum {checksum} names other operations already; nothing was stored, please report this"
            )
        oldest_ms = min(cell.stamp_ms for cell in row.values())
        self._known.keep(checksum, oldest_ms + self._half_grace_ms)
        return self._known.fresh(checksum, now_ms)

    def _parts_to_put(self, pending: Iterable[Pending], now_ms: int, refused: Refused) -> dict[str, bytes]:
        """The parts of events that the table lacks or that grow old."""
        pending = list(pending)
        texts = {
            digest: text
            for run in pending
            for digest, text in run.texts.items()
            if not self._known.fresh(digest, now_ms)
        }
        keys = {digest: layout.part_row(digest) for digest in texts}
        found = self._table.rows(list(keys.values()), columns=(layout.PART,)) if keys else {}
        missing = {}
        for digest, text in texts.items():
            cell = found.get(keys[digest], {}).get(layout.PART)
            if cell is not None and cell.value != text:
                told = f"digest {digest} names another part already; nothing was stored, please report this"
                refused |= {run.run: ChecksumConflict(told) for run in pending if digest in run.texts}
            elif cell is None or not self._young(digest, cell.stamp_ms, now_ms):
                missing[digest] = text
        return missing

    def _young(self, digest: str, stamp_ms: int, now_ms: int) -> bool:
        self._known.keep(digest, stamp_ms + self._half_grace_ms)
        return self._known.fresh(digest, now_ms)

    def _announce(
        self, pending: Iterable[Pending], contents: Sequence[Content], parts: Mapping[str, bytes], began: int
    ) -> None:
        """Put the contents, catalogue before data, the parts, and the own cells of documents and events."""
        batches: list[Batch] = [
            run_rows.unique([*_catalogue_of(contents), *_catalogue_of_parts(pending, parts)]),
            [put for content in contents for put in content.data],
            [run_rows.part_put(digest, text) for digest, text in parts.items()],
            [put for run in pending for put in run.cells],
        ]
        if any(batches):
            self._table.write(self._in_time(batches, began), sync=Sync.LATER)
        for name in (*(content.ends.checksum for content in contents), *parts):
            self._known.keep(name, began + self._half_grace_ms)
        for run in pending:
            self._folds.keep(run.texts)
            run.cells = []

    def _finish(self, pending: Sequence[Pending], began: int, refused: Refused) -> list[Pending]:
        """Derive and put the truths of all; returns the runs whose pass must start over."""
        for run, row in self._run_rows(pending):
            try:
                run.derive(row, self._folds)
            except (TooLarge, CorruptRow) as error:
                refused[run.run] = error
        contents = self._contents_to_put({run.run: run.derived for run in pending}, began, refused)
        pending = [run for run in pending if run.run not in refused]
        ends = self._all_ends(pending)
        references: list[Put] = []
        truths: list[Put] = []
        ready: list[Pending] = []
        again: list[Pending] = []
        for run in pending:
            if run.truth is None or run.truth.checksum not in ends:
                try:
                    run.supersede()
                    again.append(run)
                except CorruptRow as error:
                    refused[run.run] = error
                continue
            references += run_rows.reference_puts(run.truth, ends[run.truth.checksum], program=run.program)
            truths.append(run_rows.truth_put(run.key, run.count, run.truth_value))
            ready.append(run)
        index = [
            put
            for truth in run_rows.witnesses(run.truth for run in ready if run.truth)
            for put in run_rows.index_puts(truth, ends[truth.checksum])
        ]
        data = [put for content in contents for put in content.data]
        batches = [_catalogue_of(contents), data, index, references, truths]
        self._table.write(self._in_time(batches, began))
        for content in contents:
            self._known.keep(content.ends.checksum, began + self._half_grace_ms)
        return again + self._disturbed(ready, began)

    def _in_time(self, batches: Iterable[Batch], began: int) -> Iterator[Batch]:
        """The batches, each unless the pass took too long: nothing may come that late. Raises _Late."""
        for batch in batches:
            if self._late(began):
                raise _Late
            yield batch

    def _late(self, began: int) -> bool:
        """Whether what the pass began with may have been swept since."""
        return self._clock() - began > self._half_grace_ms

    def _all_ends(self, pending: Sequence[Pending]) -> dict[str, Ends]:
        """The end points of every content that is to be true; of other writers' from their data rows."""
        infos = (info for run in pending for info in (run.info, run.derived) if info is not None)
        distinct = {info.checksum: info for info in infos}
        ends = {
            checksum: Ends(checksum, info.sources, info.destinations) for checksum, info in distinct.items()
        }
        others = {run.truth.checksum for run in pending if run.truth} - ends.keys()
        for checksum in others:
            row = self._table.get(layout.data_row(checksum), columns=(layout.SOURCES, layout.DESTINATIONS))
            if row:
                ends[checksum] = content_rows.ends_of(checksum, row)
        return ends

    def _disturbed(self, ready: Sequence[Pending], began: int) -> list[Pending]:
        """Runs that got another cell, or whose content is gone, or that took too long."""
        data_keys = {layout.data_row(run.truth.checksum): run.truth.checksum for run in ready if run.truth}
        found = self._table.rows([*(run.key for run in ready), *data_keys], columns=(layout.LIGHT,))
        gone = {checksum for key, checksum in data_keys.items() if key not in found}
        for checksum in gone:
            self._known.forget(checksum)
        late = self._late(began)
        return [
            run
            for run in ready
            if late
            or run.truth is None
            or run.truth.checksum in gone
            or run_rows.said_count(found.get(run.key, {})) != run.said
        ]

    def _run_rows(self, pending: Iterable[Pending]) -> Iterator[tuple[Pending, Row]]:
        pending = list(pending)
        found = self._table.rows([run.key for run in pending], columns=(layout.LIGHT,))
        for run in pending:
            yield run, found.get(run.key, {})


class _Late(Exception):
    """A pass took too long: it starts over."""


class _Together(NamedTuple):
    """What goes into a run row at once; a document also with those of its run that go before and after it."""

    said: Sequence[Said]
    course: Course | None


class _Known:
    """Contents and parts that are known to be stored, and until when that may be relied on."""

    def __init__(self) -> None:
        self._until_ms: LRUCache[str, int] = LRUCache(100_000)
        self._lock = threading.Lock()

    def fresh(self, name: str, now_ms: int) -> bool:
        with self._lock:
            return now_ms < self._until_ms.get(name, now_ms)

    def keep(self, name: str, until_ms: int) -> None:
        with self._lock:
            self._until_ms[name] = until_ms

    def forget(self, name: str) -> None:
        with self._lock:
            self._until_ms.pop(name, None)


def _of_these(
    pending: Iterable[Pending], contents: Iterable[Content], parts: Mapping[str, bytes]
) -> tuple[list[Content], dict[str, bytes]]:
    """The contents and parts that these runs need: nothing is put for runs that were refused."""
    checksums = {run.info.checksum for run in pending if run.info is not None}
    digests = {digest for run in pending for digest in run.texts}
    return (
        [content for content in contents if content.ends.checksum in checksums],
        {digest: text for digest, text in parts.items() if digest in digests},
    )


def _catalogue_of(contents: Iterable[Content]) -> list[Put]:
    return run_rows.unique(put for content in contents for put in content.catalogue)


def _catalogue_of_parts(pending: Iterable[Pending], parts: Mapping[str, bytes]) -> Iterator[Put]:
    """What new parts say of end points, whatever runs did to them and whatever other events say."""
    if not parts:
        return
    for run in pending:
        for one in run.told if isinstance(run, PendingEvents) else ():
            if one.event.part in parts:
                part = run_events.parsed_part(parts[one.event.part])
                yield from content_rows.catalogue_puts(lineage.partial(event_operations.operations(part)))
                for schema in event_operations.schemas(part):
                    yield from content_rows.schema_puts(schema)


def _pending(together: _Together, refused: Refused) -> Pending | None:
    """The run on its way; where no row holds it, it is refused."""
    first = together.said[0]
    try:
        if isinstance(first, RecordedRun):
            return on_the_way.of_document(first, together.course)
        return on_the_way.of_events([one for one in together.said if isinstance(one, ToldEvent)])
    except TooLarge as error:
        refused[_run_of(first)] = error
        return None


def _answers(
    said: Sequence[Said], run: Pending | None, refused: Refused
) -> Sequence[Recorded | LineageError]:
    error = refused.get(_run_of(said[0]))
    if error is not None or run is None:
        return [error or StoreUnavailable("nothing is known of this run; try again")] * len(said)
    return run.answers()


def _run_of(said: Said) -> str:
    return said.run.run if isinstance(said, RecordedRun) else said.run


def _courses(said: Sequence[Said]) -> dict[int, Course]:
    """For each document that is not the only one of its run, by its place in `said`: all of them."""
    of_runs: dict[str, list[int]] = {}
    for number, one in enumerate(said):
        if isinstance(one, RecordedRun):
            of_runs.setdefault(one.run.run, []).append(number)
    courses: dict[int, Course] = {}
    for numbers in of_runs.values():
        if len(numbers) > 1:
            course: list[bytes] = []
            begin = Begin()
            for number in numbers:
                one = said[number]
                value = on_the_way.value_of(one) if isinstance(one, RecordedRun) else b""
                if value and value != (course[-1] if course else b""):
                    course.append(value)
                courses[number] = Course(course, max(len(course) - 1, 0), begin)
    return courses


def _chunks(said: Sequence[Said]) -> Iterator[list[list[int]]]:
    """What goes together, as places in `said`: a bounded number of runs, and no run twice in one.

    Order matters within a run alone. Events of one run go together whatever comes between them, since not
    even their order matters; a document stands for itself.
    """
    rounds: list[dict[str, list[int]]] = []
    last: dict[str, int] = {}
    for number, one in enumerate(said):
        run = _run_of(one)
        place = last.get(run, -1)
        others = rounds[place][run] if place >= 0 else []
        if others and isinstance(one, ToldEvent) and isinstance(said[others[0]], ToldEvent):
            others.append(number)
            continue
        last[run] = place + 1
        if place + 1 == len(rounds):
            rounds.append({})
        rounds[place + 1][run] = [number]
    for groups in (list(of_runs.values()) for of_runs in rounds):
        for begin in range(0, len(groups), CHUNK_RUNS_MAX):
            yield groups[begin : begin + CHUNK_RUNS_MAX]
