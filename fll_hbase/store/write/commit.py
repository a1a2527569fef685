"""The commit protocol: how runs become rows that survive crashes and concurrent writers.

The steps are those of docs/row-keys.md, "How rows are written", which also says why their order is safe:
contents first, then the cells of documents and events, then index rows and references, last the commit
record. Each is a barrier. At the end the run row is read again, and a pass that others interrupted starts
over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fll_hbase.errors import CorruptRow, LineageError, StoreUnavailable, TooLarge
from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.content_rows import EncodedContent
from fll_hbase.store.endpoints import ContentEndpoints, read_endpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.write.batching import RUNS_PER_PASS_MAX, RunBatch, RunInput, split_into_passes
from fll_hbase.store.write.content_refresh import ContentRefresher
from fll_hbase.store.write.pending_run import (
    CommitResult,
    PendingEvents,
    PendingRun,
    Rejections,
    pending_run,
    recommit_of,
)
from fll_hbase.tables import Batch, Put, Row, Sync, Table

PASSES_MAX = 50


class RunCommitter:
    """Commits runs to a table. Threads may share it.

    `clock` returns milliseconds since 1970. Content older than half of `grace_ms` is put again, and a pass
    that takes as long starts over, because a sweep may delete content that no run refers to for that long.
    """

    def __init__(self, table: Table, events: EventMerger, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._events = events
        self._clock = clock
        self._pass_max_ms = grace_ms // 2
        self._refresher = ContentRefresher(table, lifetime_ms=grace_ms // 2)

    def record(self, inputs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record runs and events in order; return one result or error for each.

        A run whose result is an error is not visible to queries. Re-sending the last documents of a run in
        the same order is idempotent. Raises StoreUnavailable: then any input may be stored.
        """
        results: dict[int, CommitResult | LineageError] = {}
        for batches in split_into_passes(inputs):
            for batch, batch_results in zip(batches, self._record(batches), strict=True):
                results |= zip(batch.positions, batch_results, strict=True)
        return [results[position] for position in range(len(inputs))]

    def recommit(self, runs: Sequence[str]) -> Rejections:
        """Put index rows, references and commit records of run ids again, computed from their rows.

        Returns the errors of runs where that is impossible. Raises StoreUnavailable.
        """
        rejections: Rejections = {}
        runs = sorted(set(runs))
        for start in range(0, len(runs), RUNS_PER_PASS_MAX):
            self._commit_runs(
                [recommit_of(run) for run in runs[start : start + RUNS_PER_PASS_MAX]], rejections
            )
        return rejections

    def _record(self, batches: Sequence[RunBatch]) -> list[Sequence[CommitResult | LineageError]]:
        rejections: Rejections = {}
        pending: dict[str, PendingRun] = {}
        for batch in batches:
            try:
                pending[batch.run] = pending_run(batch)
            except TooLarge as error:
                rejections[batch.run] = error
        self._commit_runs(list(pending.values()), rejections)
        return [
            [rejections[batch.run]] * len(batch.inputs)
            if batch.run in rejections
            else pending[batch.run].results()
            for batch in batches
        ]

    def _commit_runs(self, runs: Sequence[PendingRun], rejections: Rejections) -> None:
        """Run passes until each run is committed or rejected. Raises StoreUnavailable after PASSES_MAX."""
        pending = self._read_current_state(runs, rejections)
        for _ in range(PASSES_MAX):
            began_ms = self._clock()
            # Step 2: which contents and event bodies are missing, or old enough to be swept under this pass.
            contents = self._refresher.contents_to_put(
                {run.run: run.info for run in pending}, began_ms, rejections
            )
            bodies = self._refresher.bodies_to_put(pending, began_ms, rejections)
            pending = [run for run in pending if run.run not in rejections]
            try:
                self._put_content_and_cells(pending, *_restrict_to(pending, contents, bodies), began_ms)
                pending = self._commit(pending, began_ms, rejections)
            except _DeadlineExceeded:
                continue
            if not pending:
                return
        raise StoreUnavailable(
            f"run {pending[0].run!r} is written by other processes all the time; try again"
        )

    def _read_current_state(self, runs: Sequence[PendingRun], rejections: Rejections) -> list[PendingRun]:
        """Step 1: read the run rows, and find out which documents and events are new."""
        for run, row in self._run_rows(runs):
            try:
                run.load(row, self._events)
            except (TooLarge, CorruptRow) as error:
                rejections[run.run] = error
        return [run for run in runs if run.run not in rejections]

    def _put_content_and_cells(
        self,
        pending: Sequence[PendingRun],
        contents: Sequence[EncodedContent],
        bodies: Mapping[str, bytes],
        began_ms: int,
    ) -> None:
        """Step 3: put catalogue, contents, event bodies and the cells of the run rows, each behind a barrier.

        In this order a run row never refers to a content that readers cannot find, and a content never to a
        dataset that the catalogue lacks.
        """
        batches: list[Batch] = [
            run_rows.last_put_per_cell(
                [*_catalogue_puts(contents), *_catalogue_puts_of_events(pending, bodies)]
            ),
            [put for content in contents for put in content.data],
            [run_rows.event_body_put(digest, body) for digest, body in bodies.items()],
            [put for run in pending for put in run.cells],
        ]
        if any(batches):
            # The write of step 5 makes these durable, too: one flush for a pass.
            self._table.write(self._until_deadline(batches, began_ms), sync=Sync.LATER)
        self._refresher.note_put((*(content.endpoints.checksum for content in contents), *bodies), began_ms)
        for run in pending:
            self._events.cache_bodies(run.bodies)
            run.cells = []

    def _commit(
        self, pending: Sequence[PendingRun], began_ms: int, rejections: Rejections
    ) -> list[PendingRun]:
        """Steps 4 to 6. Returns the runs whose pass must start over."""
        self._compute_commits(pending, rejections)
        contents = self._refresher.contents_to_put(
            {run.run: run.derived_info for run in pending}, began_ms, rejections
        )
        pending = [run for run in pending if run.run not in rejections]
        endpoints = self._endpoints(pending)
        ready, again = _split_by_content(pending, endpoints, rejections)
        # Step 5. Index rows go before references: a reader that finds no index row of a content does not
        # look for its references. References go before commit records: a committed run can be found.
        batches: list[Batch] = [
            run_rows.last_put_per_cell(_catalogue_puts(contents)),
            [put for content in contents for put in content.data],
            list(_index_puts(ready, endpoints)),
            list(_reference_puts(ready, endpoints)),
            [run_rows.commit_put(run.key, run.commit_count, run.commit_value) for run in ready],
        ]
        self._table.write(self._until_deadline(batches, began_ms))
        self._refresher.note_put((content.endpoints.checksum for content in contents), began_ms)
        return again + self._changed_meanwhile(ready, began_ms)

    def _compute_commits(self, pending: Sequence[PendingRun], rejections: Rejections) -> None:
        """Step 4: read the run rows again and compute what they amount to.

        Of two writers of a run at least one sees the cells of both, because both put theirs before this read.
        """
        for run, row in self._run_rows(pending):
            try:
                run.compute_commit(row, self._events)
            except (TooLarge, CorruptRow) as error:
                rejections[run.run] = error

    def _endpoints(self, pending: Sequence[PendingRun]) -> dict[str, ContentEndpoints]:
        """Return the endpoints of the contents to commit; those of other writers are read, never cached.

        A content of another writer may be swept at any time; it is left out if its row is missing.
        """
        infos = {
            info.checksum: info
            for run in pending
            for info in (run.info, run.derived_info)
            if info is not None
        }
        endpoints = {
            checksum: ContentEndpoints(checksum, info.sources, info.destinations)
            for checksum, info in infos.items()
        }
        others = {run.committed.checksum for run in pending if run.committed} - endpoints.keys()
        stored = read_endpoints(self._table, map(layout.content_row, sorted(others)))
        for read in stored.values():
            if isinstance(read, CorruptRow):
                raise read
            endpoints[read.checksum] = read
        return endpoints

    def _changed_meanwhile(self, ready: Sequence[PendingRun], began_ms: int) -> list[PendingRun]:
        """Step 6: return the runs with another new cell, a swept content, or a pass that took too long."""
        content_keys = {
            layout.content_row(run.committed.checksum): run.committed.checksum
            for run in ready
            if run.committed
        }
        rows = self._table.rows([*(run.key for run in ready), *content_keys], columns=(layout.LIGHT,))
        missing = {checksum for key, checksum in content_keys.items() if key not in rows}
        for checksum in missing:
            self._refresher.forget(checksum)
        late = self._late(began_ms)
        return [
            run
            for run in ready
            if late
            or run.committed is None
            or run.committed.checksum in missing
            or run_rows.input_count(rows.get(run.key, {})) != run.input_count
        ]

    def _until_deadline(self, batches: Iterable[Batch], began_ms: int) -> Iterator[Batch]:
        """Yield the batches while the pass is within its time. Raises _DeadlineExceeded.

        What a late batch relies on may have been swept since the pass began.
        """
        for batch in batches:
            if self._late(began_ms):
                raise _DeadlineExceeded
            yield batch

    def _late(self, began_ms: int) -> bool:
        return self._clock() - began_ms > self._pass_max_ms

    def _run_rows(self, pending: Iterable[PendingRun]) -> Iterator[tuple[PendingRun, Row]]:
        pending = list(pending)
        rows = self._table.rows([run.key for run in pending], columns=(layout.LIGHT,))
        for run in pending:
            yield run, rows.get(run.key, {})


class _DeadlineExceeded(Exception):
    """A pass took more than half of the grace period; it starts over."""


def _restrict_to(
    pending: Iterable[PendingRun], contents: Iterable[EncodedContent], bodies: Mapping[str, bytes]
) -> tuple[list[EncodedContent], dict[str, bytes]]:
    """Return the contents and event bodies that the runs need: nothing is put for rejected runs."""
    checksums = {run.info.checksum for run in pending if run.info is not None}
    digests = {digest for run in pending for digest in run.bodies}
    return (
        [content for content in contents if content.endpoints.checksum in checksums],
        {digest: body for digest, body in bodies.items() if digest in digests},
    )


def _split_by_content(
    pending: Iterable[PendingRun], endpoints: Mapping[str, ContentEndpoints], rejections: Rejections
) -> tuple[list[PendingRun], list[PendingRun]]:
    """Split runs into those to commit, and those that start over since the latest content was swept."""
    ready: list[PendingRun] = []
    again: list[PendingRun] = []
    for run in pending:
        if run.committed is not None and run.committed.checksum in endpoints:
            ready.append(run)
            continue
        try:
            run.append_again()
            again.append(run)
        except CorruptRow as error:
            rejections[run.run] = error
    return ready, again


def _index_puts(ready: Iterable[PendingRun], endpoints: Mapping[str, ContentEndpoints]) -> Iterator[Put]:
    """Yield the index rows, always: a reader may remember one as stale, and putting it again revives it."""
    committed = (run.committed for run in ready if run.committed)
    for run in run_rows.one_run_per_index_row(committed):
        yield from run_rows.index_puts(run, endpoints[run.checksum])


def _reference_puts(ready: Iterable[PendingRun], endpoints: Mapping[str, ContentEndpoints]) -> Iterator[Put]:
    for run in ready:
        if run.committed:
            endpoints_of_run = endpoints[run.committed.checksum]
            yield from run_rows.reference_puts(run.committed, endpoints_of_run, program=run.program)


def _catalogue_puts(contents: Iterable[EncodedContent]) -> Iterator[Put]:
    return (put for content in contents for put in content.catalogue)


def _catalogue_puts_of_events(pending: Iterable[PendingRun], bodies: Mapping[str, bytes]) -> Iterator[Put]:
    """Yield what new event bodies add to the catalogue, whatever other events of their runs contain."""
    if not bodies:
        return
    for run in pending:
        for incoming in run.incoming if isinstance(run, PendingEvents) else ():
            if incoming.event.lineage_digest in bodies:
                part = run_events.decode_lineage(bodies[incoming.event.lineage_digest])
                info = lineage.build_lineage_lenient(event_operations.build_operations(part))
                yield from content_rows.catalogue_puts(info)
                for metadata in event_operations.dataset_metadata(part):
                    yield from content_rows.metadata_puts(metadata)
