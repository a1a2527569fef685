"""What do the events of a run come to: parts read once and kept, since they are named by what they say."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import Event, Facts, Part
from fll_hbase.model.runs import ProgramRun, State, details
from fll_hbase.store import run_rows
from fll_hbase.store.run_rows import Claim, Truth
from fll_hbase.tables import Row, Table

TEXTS_BYTES_MAX = 16 * 2**20
TEXT_OVERHEAD_BYTES = 300
"""Of each text that is kept: facts are short, and there are many."""

FOLDED_BYTES_MAX = 8 * 2**20
"""Of parts as stored; what they come to takes some ten times as much."""


class Folded(NamedTuple):
    """What a run comes to, and its content."""

    truth: Truth
    info: FieldLineageInfo


class _Sum(NamedTuple):
    part: Part
    info: FieldLineageInfo


class Folds:
    """Folds events. Threads may share it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._texts: LRUCache[str, bytes] = LRUCache(
            TEXTS_BYTES_MAX, getsizeof=lambda text: len(text) + TEXT_OVERHEAD_BYTES
        )
        self._sums: LRUCache[tuple[str, ...], tuple[int, _Sum]] = LRUCache(
            FOLDED_BYTES_MAX, getsizeof=lambda item: item[0]
        )
        self._lock = threading.Lock()

    def keep(self, texts: Mapping[str, bytes]) -> None:
        """Remember texts by their digests."""
        with self._lock:
            for digest, text in texts.items():
                if len(text) + TEXT_OVERHEAD_BYTES <= TEXTS_BYTES_MAX:
                    self._texts[digest] = text

    def folded(self, run: str, told_of: Sequence[Event], texts: Mapping[str, bytes]) -> Folded:
        """What all events of a run, in order, come to; `texts` are those at hand.

        Raises CorruptRow where a part is missing or cannot be read.
        """
        texts = self._all_texts(told_of, texts)
        found = self._sum(told_of, texts)
        facts = [run_events.parsed_facts(texts[event.facts]) for event in told_of]
        program_run = run_events.program_run(run, told_of, found.part, facts)
        return Folded(Truth(found.info.checksum, program_run), found.info)

    def head(self, told_of: Sequence[Event]) -> bytes:
        """The value of the truth of what all events of a run, in order, come to; facts are not read.

        Raises CorruptRow where a part is missing or cannot be read.
        """
        found = self._sum(told_of, self.texts([event.part for event in told_of]))
        return run_rows.head_value(found.info.checksum, *run_events.course(told_of))

    def truths(self, found: Mapping[str, Row]) -> dict[str, Truth]:
        """The truths of run rows, by run; runs that no pass has finished are left out.

        Raises CorruptRow where a row, or a part that it names, cannot be read.
        """
        values = {
            run: value for run, row in found.items() if (value := run_rows.truth_value(row)) is not None
        }
        told_of = {run: _events(run, found[run]) for run, value in values.items() if run_rows.is_head(value)}
        texts = self.texts([digest for of in told_of.values() for e in of for digest in (e.part, e.facts)])
        truths = {}
        for run, value in values.items():
            with in_row(layout.run_row(run)):
                if run not in told_of:
                    truths[run] = run_rows.decoded(run, value)
                    continue
                claim = run_rows.claimed(value)
                told = self.folded(run, told_of[run], texts).truth.run
                truths[run] = Truth(claim.checksum, _as_claimed(told, claim, told_of[run][-1].time_ms))
        return truths

    def said(self, told_of: Sequence[Event]) -> tuple[Part, list[Facts]]:
        """What all events of a run, in order, say: their parts as one, and the facts of each.

        Raises CorruptRow where a part is missing or cannot be read.
        """
        texts = self._all_texts(told_of, {})
        facts = [run_events.parsed_facts(texts[event.facts]) for event in told_of]
        return self._sum(told_of, texts).part, facts

    def texts(self, digests: Sequence[str]) -> dict[str, bytes]:
        """The texts of parts. Raises CorruptRow where one is missing."""
        with self._lock:
            found = {digest: text for digest in digests if (text := self._texts.get(digest)) is not None}
        missing = [digest for digest in dict.fromkeys(digests) if digest not in found]
        if missing:
            keys = {layout.part_row(digest): digest for digest in missing}
            read = self._table.rows(list(keys), columns=(layout.PART,))
            for key, digest in keys.items():
                if key not in read:
                    raise CorruptRow(f"{key.decode()}: an event names this part, but there is none")
                found[digest] = read[key][layout.PART].value
            self.keep({digest: found[digest] for digest in missing})
        return found

    def _all_texts(self, told_of: Sequence[Event], texts: Mapping[str, bytes]) -> dict[str, bytes]:
        wanted = {digest for event in told_of for digest in (event.part, event.facts)}
        return {**self.texts(sorted(wanted - texts.keys())), **texts}

    def _sum(self, told_of: Sequence[Event], texts: Mapping[str, bytes]) -> _Sum:
        """The sum of parts, each where it was last said: what it said before it says again there."""
        changes = tuple(dict.fromkeys(event.part for event in reversed(told_of)))[::-1]
        with self._lock:
            kept = self._sums.get(changes)
        if kept is not None:
            return kept[1]
        part = run_events.merged([run_events.parsed_part(texts[digest]) for digest in changes])
        found = _Sum(part, lineage.partial(event_operations.operations(part)))
        size = sum(len(texts[digest]) for digest in changes)
        if size <= FOLDED_BYTES_MAX:
            with self._lock:
                self._sums[changes] = size, found
        return found


def _events(run: str, row: Row) -> list[Event]:
    with in_row(layout.run_row(run)):
        found = run_rows.events_of(row)
        if not found:
            raise CorruptRow("its truth is of events, but there is none")
        return found


def _as_claimed(told: ProgramRun, claim: Claim, last_ms: int) -> ProgramRun:
    """The run with what its truth says; of one that has not ended, when it was last heard of."""
    said = json.loads(told.details) if told.details else {}
    if claim.state is State.RUNNING:
        said["lastEventTime"] = last_ms
    return replace(told, start_ms=claim.start_ms, state=claim.state, details=details(**said))
