"""Merge of a run's events into one lineage. Event bodies are content-addressed and cached."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.keys import layout, ranges
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.run_events import EventLineage, EventRunFacts, RunEvent
from fll_hbase.model.runs import ProgramRun, RunKey, State, encode_details, is_uuid, run_key
from fll_hbase.runtime import damage
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.results import RunDetails
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CommittedHead, CommittedRun
from fll_hbase.tables import Row, Scan, Table, read_rows

BODIES_BYTES_MAX = 16 * 2**20
"""Maximum size of cached event bodies, counting BODY_OVERHEAD_BYTES for each."""

BODY_OVERHEAD_BYTES = 300
"""Added to the size of each cached body: most run facts are shorter than their cache entry."""

MERGED_BYTES_MAX = 8 * 2**20
"""Maximum size of cached merges, in bytes of stored bodies; a decoded merge takes about ten times as much."""

RUNS_OF_ID_MAX = 100
"""Maximum number of namespaces searched for runs of one id."""


class MergedRun(NamedTuple):
    """The state and content of a run, as merged from its events."""

    committed: CommittedRun
    info: FieldLineageInfo


class _MergedLineage(NamedTuple):
    part: EventLineage
    info: FieldLineageInfo


class EventMerger:
    """Reads and merges events. Threads may share it.

    Methods raise StoreUnavailable, and CorruptRow if a run row is damaged, or an event body missing or
    unreadable. `events` always belong to one run, sorted by `run_events.sort_events`. Cached values do not
    depend on who queries, so a view of a store uses the caches of that store's `shared` merger.
    """

    def __init__(self, table: Table, *, shared: EventMerger | None = None) -> None:
        self._table = table
        self._bodies: LRUCache[str, bytes] = (
            LRUCache(BODIES_BYTES_MAX, getsizeof=lambda body: len(body) + BODY_OVERHEAD_BYTES)
            if shared is None
            else shared._bodies
        )
        self._merged: LRUCache[tuple[str, ...], tuple[int, _MergedLineage]] = (
            LRUCache(MERGED_BYTES_MAX, getsizeof=lambda item: item[0]) if shared is None else shared._merged
        )
        self._lock: threading.Lock = threading.Lock() if shared is None else shared._lock

    def cache_bodies(self, bodies: Mapping[str, bytes]) -> None:
        """Cache event bodies by digest, except those larger than the whole cache."""
        with self._lock:
            for digest, body in bodies.items():
                # LRUCache raises ValueError for an item larger than the whole cache.
                if len(body) + BODY_OVERHEAD_BYTES <= BODIES_BYTES_MAX:
                    self._bodies[digest] = body

    def merge(self, run: RunKey, events: Sequence[RunEvent], bodies: Mapping[str, bytes]) -> MergedRun:
        """Merge all events of a run. `bodies` are known event bodies by digest; any others are read."""
        bodies = self._with_stored(events, bodies)
        merged = self._merge_lineage(events, bodies)
        facts = [self._decode_facts(bodies[event.facts_digest]) for event in events]
        program_run = run_events.program_run(run.run, events, merged.part, facts)
        return MergedRun(CommittedRun(merged.info.checksum, program_run, run), merged.info)

    def merged_head(self, events: Sequence[RunEvent]) -> bytes:
        """Return the commit value of all events merged, reading only their lineage bodies."""
        bodies = self.bodies(event.lineage_digest for event in events)
        merged = self._merge_lineage(events, bodies)
        start_ms, state = run_events.start_and_state(events)
        return run_rows.encode_head(CommittedHead(merged.info.checksum, start_ms, state))

    def committed_runs(self, rows: Mapping[RunKey, Row]) -> dict[RunKey, CommittedRun]:
        """Decode the committed state of run rows by run, leaving out rows without a finished commit.

        Reads the required event bodies. Raises CorruptRow, including for a missing body.
        """
        values = {
            run: value for run, row in rows.items() if (value := run_rows.commit_value(row)) is not None
        }
        events = {
            run: _events(run, rows[run]) for run, value in values.items() if run_rows.is_head_only(value)
        }
        # One read gets the bodies for all runs. Only runs of events need it, since their commit records name
        # no program (decision 12).
        bodies = self.bodies(_digests(event for group in events.values() for event in group))
        committed = {}
        for run, value in values.items():
            with in_row(layout.run_row(*run)):
                if run not in events:
                    committed[run] = run_rows.decode_run(run, value)
                    continue
                head = run_rows.decode_head(value)
                merged = self.merge(run, events[run], bodies).committed.run
                program_run = _with_head(merged, head, events[run][-1].time_ms)
                committed[run] = CommittedRun(head.checksum, program_run, run)
        return committed

    def readable_runs(self, rows: Mapping[RunKey, Row]) -> dict[RunKey, CommittedRun]:
        """Return the result of `committed_runs`, leaving out damaged runs."""
        try:
            return self.committed_runs(rows)
        except CorruptRow:
            readable: dict[RunKey, CommittedRun] = {}
            for run, row in rows.items():
                with damage.leaving_out():
                    readable |= self.committed_runs({run: row})
            return readable

    def may_show(self, run: RunKey) -> bool:
        """Return True: any run is shown here; a view of a store decides by a namespace in the key."""
        return True

    def shown_program(self, run: ProgramRun) -> ProgramRun:
        """Return a run as its reader may see it: unchanged here; a view of a store may hide the program."""
        return run

    def run_details(self, runs: Sequence[RunKey]) -> dict[RunKey, RunDetails]:
        """Read runs with their events, leaving out runs that are not recorded or not committed."""
        return self._details(run_rows.read_run_rows(self._table, runs))

    def rows_of_id(self, run: str, namespace: str) -> Iterator[tuple[RunKey, Row]]:
        """Yield the rows that may belong to a run with an id from a client, read in one call.

        The first row is the row of the id that all namespaces share, {} if it does not exist. Then come other
        rows: of a program in `namespace`, or, if that is "", of at most RUNS_OF_ID_MAX namespaces whose runs
        may be shown. An id that is a UUID has only the first row.
        """
        shared = RunKey(run)
        if namespace or is_uuid(run):
            rows = run_rows.read_run_rows(self._table, {shared, run_key(run, namespace)})
        else:
            key = layout.run_row(run)
            key_ranges = (key, key + b"\0"), layout.run_rows_of_id(run)
            scans = [Scan(*key_range, (layout.LIGHT,)) for key_range in key_ranges]
            rows = {ranges.run_of(key): row for page in self._table.scan_many(scans) for key, row in page}
        yield shared, rows.pop(shared, {})
        yield from islice((item for item in rows.items() if self.may_show(item[0])), RUNS_OF_ID_MAX)

    def find_run(self, run: RunKey, row: Row) -> RunDetails | None:
        """Return a run from `rows_of_id`, or None if it is not recorded or not committed."""
        return self._details({run: row}).get(run)

    def _details(self, rows: Mapping[RunKey, Row]) -> dict[RunKey, RunDetails]:
        """Return the details of runs, given their rows, leaving out runs that are not committed."""
        details = {}
        for run, committed in self.committed_runs(rows).items():
            events = run_rows.decode_events(rows[run])
            part, facts = self._lineage_and_facts(events) if events else (None, ())
            details[run] = RunDetails(committed, tuple(events), part, tuple(facts))
        return details

    def bodies(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Return event bodies by digest, from the cache or the table. Raises CorruptRow if one is missing."""
        digests = list(dict.fromkeys(digests))
        # Bodies are immutable and named by digest, so a cached body is valid even after its row is deleted.
        with self._lock:
            bodies = {digest: body for digest in digests if (body := self._bodies.get(digest)) is not None}
        missing = [digest for digest in digests if digest not in bodies]
        if not missing:
            return bodies
        stored = self._read_bodies(missing)
        for digest in missing:
            if digest not in stored:
                key = layout.event_body_row(digest).decode()
                raise CorruptRow(f"{key}: an event refers to this event body, which is missing")
        return bodies | stored

    def load_bodies(self, digests: Iterable[str]) -> None:
        """Cache event bodies by digest, read in one call, ignoring missing ones."""
        with self._lock:
            missing = [digest for digest in dict.fromkeys(digests) if digest not in self._bodies]
        self._read_bodies(missing)

    def _read_bodies(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Read event bodies from the table into the cache, ignoring missing ones."""
        keys = {layout.event_body_row(digest): digest for digest in digests}
        rows = read_rows(self._table, keys, columns=(layout.EVENT_BODY,))
        bodies = {digest: row[layout.EVENT_BODY].value for digest, row in rows.items()}
        self.cache_bodies(bodies)
        return bodies

    def _lineage_and_facts(self, events: Sequence[RunEvent]) -> tuple[EventLineage, list[EventRunFacts]]:
        """Return the merged lineage of stored events, and the facts of each, in their order."""
        bodies = self._with_stored(events, {})
        facts = [self._decode_facts(bodies[event.facts_digest]) for event in events]
        return self._merge_lineage(events, bodies).part, facts

    def _decode_facts(self, body: bytes) -> EventRunFacts:
        """Decode the facts of an event; a view of a store leaves out some facts."""
        return run_events.decode_run_facts(body)

    def _with_stored(self, events: Sequence[RunEvent], bodies: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Return `bodies` with every body that the events need, reading missing ones. Raises CorruptRow."""
        missing = set(_digests(events)) - bodies.keys()
        return {**self.bodies(sorted(missing)), **bodies} if missing else bodies

    def _merge_lineage(self, events: Sequence[RunEvent], bodies: Mapping[str, bytes]) -> _MergedLineage:
        """Merge distinct event bodies in order of their last occurrence, caching small results."""
        # The latest facet is valid, so earlier occurrences of an equal body change nothing. Use the digests
        # as cache key, because the merge is the same every night.
        digests = tuple(dict.fromkeys(event.lineage_digest for event in reversed(events)))[::-1]
        with self._lock:
            cached = self._merged.get(digests)
        if cached is not None:
            return cached[1]
        # Merge outside the lock: two threads that merge the same bodies get equal results.
        part = run_events.merge_lineage([run_events.decode_lineage(bodies[digest]) for digest in digests])
        merged = _MergedLineage(part, lineage.build_lineage_lenient(event_operations.build_operations(part)))
        size_bytes = sum(len(bodies[digest]) for digest in digests)
        if size_bytes <= MERGED_BYTES_MAX:
            with self._lock:
                self._merged[digests] = size_bytes, merged
        return merged


def _digests(events: Iterable[RunEvent]) -> list[str]:
    """Return the digests of each event's lineage and facts bodies, including repeated ones."""
    return [digest for event in events for digest in (event.lineage_digest, event.facts_digest)]


def _events(run: RunKey, row: Row) -> list[RunEvent]:
    """Return the sorted events of a run row. Raises CorruptRow, naming the row, if it has none."""
    with in_row(layout.run_row(*run)):
        events = run_rows.decode_events(row)
        if not events:
            raise CorruptRow("its commit record is for events, but the run has none")
        return events


def _with_head(run: ProgramRun, head: CommittedHead, last_event_ms: int) -> ProgramRun:
    """Return the merged run with start and state of its commit record, plus `lastEventTime` if RUNNING."""
    # The row may have events that are not yet committed; queries matched the run by its commit record.
    details = json.loads(run.details) if run.details else {}
    if head.state is State.RUNNING:
        details["lastEventTime"] = last_event_ms
    return replace(run, start_ms=head.start_ms, state=head.state, details=encode_details(**details))
