"""Runs as seen without the right to read all namespaces: their programs, details and events."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec
from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.model import masking, run_events
from fll_hbase.model.run_events import EventRunFacts, RunEvent
from fll_hbase.model.runs import ProgramRun, RunKey, encode_details, run_key
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.endpoints import read_endpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.results import RunDetails
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Row, Table, read_rows

_NO_DIGESTS = ("0" * 32, "f" * 32)
"""Digests that are read for an id without events, so that it takes as many reads as any other id."""

_CACHED_MAX = 100_000
"""Maximum number of runs, and of contents, with a cached decision on what of them is visible."""


class VisibleRuns(EventMerger):
    """Reads runs, hiding programs in namespaces that `may_read` refuses. Threads may share it.

    The details, SQL and facts of a run may contain any name. They are shown only if its program and all its
    datasets are visible. `table` is the whole table. Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(
        self, table: Table, *, may_read: Callable[[str], bool], shared: EventMerger | None = None
    ) -> None:
        super().__init__(table, shared=shared)
        self._base = table
        self._may_read = may_read
        self.has_hidden = False
        """True once any program has been hidden. While False, no answer can contain a label of a program."""
        self._shown: LRUCache[RunKey, bool] = LRUCache(_CACHED_MAX)
        self._seen: LRUCache[str, tuple[bool, bool]] = LRUCache(_CACHED_MAX)

    def committed_runs(self, rows: Mapping[RunKey, Row]) -> dict[RunKey, CommittedRun]:
        """Decode the committed state of run rows by run, as shown, leaving out rows without a commit."""
        committed = super().committed_runs(rows)
        seen = self._visibility({run.checksum for run in committed.values()})
        may_read = {name: self._may_read(name) for name in {run.run.namespace for run in committed.values()}}
        return {
            key: run
            if may_read[run.run.namespace] and (seen[run.checksum][1] or not run.run.details)
            else run._replace(run=self._masked(run.run, is_hidden=not may_read[run.run.namespace]))
            for key, run in committed.items()
        }

    def may_show(self, run: RunKey) -> bool:
        """Return whether the run may be shown; True if its key has no namespace to check."""
        return not run.namespace or self._may_read(run.namespace)

    def hidden_labels(self, runs: Collection[RunKey]) -> dict[RunKey, str]:
        """Return, in order, a label in place of the id of each run with a hidden program.

        Makes one call for uncached runs whose keys have no namespace. A deleted run counts as hidden.
        """
        with self._lock:
            shown = {run: self._shown.get(run) for run in runs if not run.namespace}
        unknown = [run for run, is_shown in shown.items() if is_shown is None]
        if unknown:
            stored = super().committed_runs(run_rows.read_run_rows(self._base, unknown))
            decided = {run: run in stored and self._may_read(stored[run].run.namespace) for run in unknown}
            shown |= decided
            with self._lock:
                self._shown.update(decided)
        hidden = (run for run in runs if not (self._may_read(run.namespace) if run.namespace else shown[run]))
        return {run: _label(run) for run in hidden}

    def shown_program(self, run: ProgramRun) -> ProgramRun:
        """Return a run, with labels for program and id, without details, if its namespace is not readable."""
        return run if self._may_read(run.namespace) else self._masked(run, is_hidden=True)

    def find_run(self, run: RunKey, row: Row) -> RunDetails | None:
        """Return a run of `rows_of_id`, or None if it is not committed or its program is hidden.

        For a hidden program, it makes the same calls as for an id without a run, whatever is cached.
        """
        if not run.namespace:
            namespace = self._namespace_of_row(run, row)
            if not namespace or not self._may_read(namespace):
                return None
        return self._shown_details(self._details({run: row})).get(run)

    def _namespace_of_row(self, run: RunKey, row: Row) -> str:
        """Return the namespace of a run's program, or "" if the row does not contain it or is damaged.

        Makes at least one call, unless the namespace may be read.
        """
        namespace = ""
        events: list[RunEvent] = []
        with suppress(CorruptRow):
            value = run_rows.commit_value(row)
            if value is not None and run_rows.is_head_only(value):
                events = run_rows.decode_events(row)
            elif value is not None:
                namespace = run_rows.decode_run(run, value).run.namespace
        if not namespace or not self._may_read(namespace):
            with suppress(CorruptRow):
                namespace = self._namespace_of_events(events)
        return namespace

    def _namespace_of_events(self, events: Sequence[RunEvent]) -> str:
        """Return the namespace of the program in a run's sorted events, or "" without any, in one call.

        Caches the bodies if the namespace may be read. Raises CorruptRow if a body is missing or invalid.
        """
        digests = {digest for event in events for digest in (event.lineage_digest, event.facts_digest)}
        keys = {layout.event_body_row(digest): digest for digest in digests or _NO_DIGESTS}
        rows = read_rows(self._base, keys, columns=(layout.EVENT_BODY,))
        if not events:
            return ""
        if len(rows) < len(digests):
            raise CorruptRow("an event refers to a body that is missing")
        bodies = {digest: row[layout.EVENT_BODY].value for digest, row in rows.items()}
        namespace = run_events.namespace_of_program(
            [(bodies[event.lineage_digest], bodies[event.facts_digest]) for event in events]
        )
        if self._may_read(namespace):
            self.cache_bodies(bodies)
        return namespace

    def run_details(self, runs: Sequence[RunKey]) -> dict[RunKey, RunDetails]:
        """Read runs as shown, leaving out runs that are not committed, or without a visible part."""
        return self._shown_details(super().run_details(runs))

    def _shown_details(self, details: Mapping[RunKey, RunDetails]) -> dict[RunKey, RunDetails]:
        """Return the details of runs as shown, leaving out runs without a visible part."""
        seen = self._visibility({stored_run.committed.checksum for stored_run in details.values()})
        shown = {}
        for key, stored_run in details.items():
            sees_any, sees_all = seen[stored_run.committed.checksum]
            sees_program = not _has_hidden_program(stored_run.committed.run)
            if sees_any or sees_program:
                shown[key] = stored_run if sees_all and sees_program else _without_facts(stored_run)
        return shown

    def _masked(self, run: ProgramRun, *, is_hidden: bool) -> ProgramRun:
        """Return a run with only its last event's time as details, and labels for a hidden program and id."""
        details = _state_details(run)
        if not is_hidden:
            return replace(run, details=details)
        self.has_hidden = True
        label = masking.hide_name("program", *run.program_id)
        run_label = _label(run_key(run.run, run.namespace))
        return ProgramRun(
            masking.HIDDEN_NAMESPACE, "", "", "", label, run_label, run.start_ms, run.state, details
        )

    def _decode_facts(self, body: bytes) -> EventRunFacts:
        """Return the facts of an event, without a parent or root job in a hidden namespace."""
        facts = super()._decode_facts(body)
        hidden = {
            name: None
            for name, job in (("parent", facts.parent), ("root", facts.root))
            if job and not self._may_read(job[0])
        }
        return msgspec.structs.replace(facts, **hidden) if hidden else facts

    def _visibility(self, checksums: Collection[str]) -> dict[str, tuple[bool, bool]]:
        """Return by checksum whether any, and whether all datasets of a content are visible, through a cache.

        Returns (False, True) without datasets, (False, False) for a missing content. Raises CorruptRow.
        """
        with self._lock:
            visibility = {checksum: self._seen.get(checksum) for checksum in checksums}
        keys = [layout.content_row(checksum) for checksum, seen in visibility.items() if seen is None]
        stored = read_endpoints(self._base, keys)
        for endpoints in stored.values():
            if isinstance(endpoints, CorruptRow):
                raise endpoints
            datasets = {*endpoints.sources, *endpoints.destinations}
            sees = [self._may_read(dataset.namespace) for dataset in datasets]
            visibility[endpoints.checksum] = any(sees), all(sees)
        with self._lock:
            self._seen.update({checksum: seen for checksum, seen in visibility.items() if seen is not None})
        # A content may be missing (see ContentMissing). Its runs show only their program.
        return {checksum: seen or (False, False) for checksum, seen in visibility.items()}


def _label(run: RunKey) -> str:
    """Return the label of a run in place of its id."""
    return masking.hide_name("run", *run)


def _has_hidden_program(run: ProgramRun) -> bool:
    """Return whether `VisibleRuns` has replaced the program of a run by a label."""
    return run.namespace == masking.HIDDEN_NAMESPACE


def _state_details(run: ProgramRun) -> str:
    """Return the details of a run as JSON text, with only the time of its last event."""
    details = json.loads(run.details) if run.details else {}
    return encode_details(lastEventTime=details.get("lastEventTime"))


def _without_facts(details: RunDetails) -> RunDetails:
    """Return a run without SQL, operations, facts and details, except the time of its last event."""
    run = details.committed.run
    committed = details.committed._replace(run=replace(run, details=_state_details(run)))
    part = details.part and msgspec.structs.replace(details.part, sql="", operations="")
    if _has_hidden_program(run):
        # Remove the key: a run without a visible program is numbered only by what is shown of it.
        committed = committed._replace(key=RunKey(""))
    return RunDetails(committed, details.events, part, tuple(EventRunFacts() for _ in details.facts))
