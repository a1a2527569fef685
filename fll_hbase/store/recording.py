"""How does a run become rows that survive anything: the recording pass and its barriers.

Content first, then the document's own cell in the run row; what all documents of that row come to is derived,
its index rows and references are put, and last the truth. Each step is a barrier. The run row is read again
at the end: if another writer came between, the pass starts over. docs/row-keys.md says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from fll_hbase.errors import ChecksumConflict, LineageError, StoreAway, TooLarge
from fll_hbase.keys import layout
from fll_hbase.keys.codec import measured
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store import rows
from fll_hbase.store.rows import Content, Ends, Truth
from fll_hbase.tables import Batch, Put, Row, Sync, Table

CHUNK_RUNS_MAX = 2_000
PASSES_MAX = 50


@dataclass(frozen=True, slots=True)
class Recorded:
    """An acknowledged run.

    `recorded` is false for the very same again, `replaced` is true where it said something else before.
    """

    checksum: str
    run: str
    recorded: bool
    replaced: bool


@dataclass(slots=True)
class _Pending:
    """One run on its way: its own document, and what its row said before."""

    key: bytes
    own: Truth
    info: FieldLineageInfo
    value: bytes
    before: bytes | None = None
    announce: bool = True
    number: int = 1
    resent: bool = False
    count: int = 0
    truth: Truth | None = None
    truth_value: bytes = b""

    def outcome(self) -> Recorded:
        replaced = not self.resent and self.before is not None and self.before != self.value
        return Recorded(self.own.checksum, self.own.run.run, not self.resent, replaced)


class Recording:
    """Records runs into a table. Threads may share it.

    `clock` gives milliseconds since 1970. Content older than half of `grace_ms` is written again, and a pass
    that takes as long starts over, because a sweep may delete content that no run names for that long.
    """

    def __init__(self, table: Table, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._clock = clock
        self._half_grace_ms = grace_ms // 2
        self._known = _Known()

    def record(self, runs: Sequence[RecordedRun]) -> list[Recorded | LineageError]:
        """Record all, in order; one answer for each. Raises StoreAway: then any of them may have landed.

        A run answered by an error stored nothing that a question could find.
        """
        return [answer for chunk in _chunks(runs) for answer in self._record(chunk)]

    def _record(self, runs: Sequence[RecordedRun]) -> list[Recorded | LineageError]:
        refused: dict[str, LineageError] = {}
        every = [_pending(run) for run in runs]
        pending = [run for run in every if isinstance(run, _Pending)]
        self._read_before(pending)
        for _ in range(PASSES_MAX):
            began = self._clock()
            contents = self._contents_to_put(pending, began, refused)
            pending = [run for run in pending if run.info.checksum not in refused]
            self._announce(pending, contents, began)
            pending = self._finish(pending, began)
            if not pending:
                return [_answer(run, refused) for run in every]
        raise StoreAway(f"run {pending[0].own.run.run!r} is being written by others all the time; try again")

    def _read_before(self, every: Iterable[_Pending]) -> None:
        """Look at the run rows as they are; a resend of the latest document adds no cell."""
        for run, row in self._run_rows(every):
            run.before = rows.truth_value(row)
            latest = rows.derived(row)
            run.announce = latest is None or latest.value != run.value
            run.number = latest.number + 1 if latest else 1
            run.resent = not run.announce and run.before == run.value

    def _contents_to_put(
        self, pending: Iterable[_Pending], now_ms: int, refused: dict[str, LineageError]
    ) -> list[Content]:
        """The contents that the table lacks or that grow old; what cannot be stored goes to `refused`."""
        missing = []
        for checksum, info in {run.info.checksum: run.info for run in pending}.items():
            if self._known.fresh(checksum, now_ms):
                continue
            try:
                content = rows.content_of(info)
                if not self._stored(content, now_ms):
                    missing.append(content)
            except (ChecksumConflict, TooLarge) as error:
                refused[checksum] = error
        return missing

    def _stored(self, content: Content, now_ms: int) -> bool:
        """Whether the table holds the content and it is young enough to be relied on."""
        checksum = content.ends.checksum
        row = self._table.get(layout.data_row(checksum))
        if not row:
            return False
        if not rows.same_content(row, content):
            raise ChecksumConflict(
                f"checksum {checksum} names other operations already; nothing was stored, please report this"
            )
        oldest_ms = min(cell.stamp_ms for cell in row.values())
        self._known.keep(checksum, oldest_ms + self._half_grace_ms)
        return self._known.fresh(checksum, now_ms)

    def _announce(self, pending: Iterable[_Pending], contents: Sequence[Content], began: int) -> None:
        """Put the contents, catalogue before data, and the documents' own cells."""
        batches: list[Batch] = [
            rows.unique(put for content in contents for put in content.catalogue),
            [put for content in contents for put in content.data],
            [rows.document_put(run.key, run.number, run.value) for run in pending if run.announce],
        ]
        if any(batches):
            self._table.write(batches, sync=Sync.LATER)
        for content in contents:
            self._known.keep(content.ends.checksum, began + self._half_grace_ms)
        for run in pending:
            run.announce = False

    def _finish(self, pending: Sequence[_Pending], began: int) -> list[_Pending]:
        """Derive and put the truths of all; returns the runs whose pass must start over."""
        self._derive(pending)
        ends = self._all_ends(pending)
        references: list[Put] = []
        truths: list[Put] = []
        ready: list[_Pending] = []
        again: list[_Pending] = []
        for run in pending:
            if run.truth is None or run.truth.checksum not in ends:
                again.append(self._superseding(run))
                continue
            references += rows.reference_puts(run.truth, ends[run.truth.checksum])
            truths.append(rows.truth_put(run.key, run.count, run.truth_value))
            ready.append(run)
        index = [
            put
            for truth in rows.witnesses(run.truth for run in ready if run.truth)
            for put in rows.index_puts(truth, ends[truth.checksum])
        ]
        self._table.write([index, references, truths])
        return again + self._disturbed(ready, began)

    def _derive(self, pending: Iterable[_Pending]) -> None:
        for run, row in self._run_rows(pending):
            latest = rows.derived(row)
            if latest is None:
                raise StoreAway(
                    f"run {run.own.run.run!r}: a cell just put is not there; check the store, try again"
                )
            run.count, run.number = latest.total, latest.number
            run.truth_value = latest.value
            run.truth = run.own if latest.value == run.value else rows.decoded(run.own.run.run, latest.value)

    def _all_ends(self, pending: Sequence[_Pending]) -> dict[str, Ends]:
        """The end points of every content that is to be true; of other writers' from their data rows."""
        ends = {
            run.info.checksum: Ends(run.info.checksum, run.info.sources, run.info.destinations)
            for run in pending
        }
        others = {run.truth.checksum for run in pending if run.truth} - ends.keys()
        for checksum in others:
            row = self._table.get(layout.data_row(checksum), columns=(layout.SOURCES, layout.DESTINATIONS))
            if row:
                ends[checksum] = rows.ends_of(checksum, row)
        return ends

    def _superseding(self, run: _Pending) -> _Pending:
        """Another writer's document counts, but its content is gone: put the own one after it."""
        run.announce = True
        run.number += 1
        return run

    def _disturbed(self, ready: Sequence[_Pending], began: int) -> list[_Pending]:
        """Runs that got another cell, or whose content is gone, or that took too long."""
        data_keys = {layout.data_row(run.truth.checksum): run.truth.checksum for run in ready if run.truth}
        found = self._table.rows([*(run.key for run in ready), *data_keys], columns=(layout.LIGHT,))
        gone = {checksum for key, checksum in data_keys.items() if key not in found}
        for checksum in gone:
            self._known.forget(checksum)
        late = self._clock() - began > self._half_grace_ms
        return [
            run
            for run in ready
            if late or run.truth is None or run.truth.checksum in gone or _count(found, run) != run.count
        ]

    def _run_rows(self, pending: Iterable[_Pending]) -> Iterator[tuple[_Pending, Row]]:
        pending = list(pending)
        found = self._table.rows([run.key for run in pending], columns=(layout.LIGHT,))
        for run in pending:
            yield run, found.get(run.key, {})


class _Known:
    """Contents that are known to be stored, and until when that may be relied on."""

    def __init__(self) -> None:
        self._until_ms: LRUCache[str, int] = LRUCache(100_000)
        self._lock = threading.Lock()

    def fresh(self, checksum: str, now_ms: int) -> bool:
        with self._lock:
            return now_ms < self._until_ms.get(checksum, now_ms)

    def keep(self, checksum: str, until_ms: int) -> None:
        with self._lock:
            self._until_ms[checksum] = until_ms

    def forget(self, checksum: str) -> None:
        with self._lock:
            self._until_ms.pop(checksum, None)


def _pending(recorded: RecordedRun) -> _Pending | LineageError:
    """The run on its way, or why no row holds it."""
    info, own = recorded.info, Truth(recorded.info.checksum, recorded.run)
    ends = Ends(info.checksum, info.sources, info.destinations)
    try:
        measured(
            b" " * rows.longest_prefix_bytes(ends) + layout.reference_tail(own.run.start_ms, own.run.run)
        )
        return _Pending(layout.run_row(own.run.run), own, info, rows.encoded(own))
    except TooLarge as error:
        return error


def _answer(run: _Pending | LineageError, refused: dict[str, LineageError]) -> Recorded | LineageError:
    if isinstance(run, LineageError):
        return run
    return refused.get(run.info.checksum) or run.outcome()


def _count(found: dict[bytes, Row], run: _Pending) -> int:
    latest = rows.derived(found.get(run.key, {}))
    return latest.total if latest else 0


def _chunks(runs: Sequence[RecordedRun]) -> Iterator[list[RecordedRun]]:
    """In order, a bounded number at a time, and no run twice in one."""
    chunk: dict[str, RecordedRun] = {}
    for run in runs:
        if run.run.run in chunk or len(chunk) == CHUNK_RUNS_MAX:
            yield list(chunk.values())
            chunk = {}
        chunk[run.run.run] = run
    if chunk:
        yield list(chunk.values())
