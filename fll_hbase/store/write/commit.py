"""The commit protocol: how runs become rows that survive crashes and concurrent writers.

The steps, and why their order is safe, are in docs/reference/row-keys.md, "How rows are written". Contents
(sets of operations, shared by runs) are put first, then the cells of documents and events. Ways, days and
references follow, and the commit record is last. Each batch is visible before the next one is put. At the end
the run row is read again, and the pass starts over if it has changed. A pass is one attempt of steps 2 to 6.
Methods with an argument `rejections` add the errors of runs to it, by run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fll_hbase.keys import calendars, layout
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.runs import RunKey
from fll_hbase.runtime.errors import CorruptRow, LineageError, RunIdConflict, StoreUnavailable, TooLarge
from fll_hbase.runtime.threads import map_in_threads
from fll_hbase.store.endpoints import ContentEndpoints, read_endpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.results import CommitResult
from fll_hbase.store.rows import calendar_rows, content_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.content_rows import EncodedContent
from fll_hbase.store.write import run_owner
from fll_hbase.store.write.batching import (
    RUNS_PER_PASS_MAX,
    RunBatch,
    RunInput,
    run_key_of,
    split_into_passes,
    split_into_rounds,
)
from fll_hbase.store.write.pending_run import (
    PendingEvents,
    PendingMove,
    PendingRecommit,
    PendingRun,
    Rejections,
    pending_run,
    report_pass,
)
from fll_hbase.store.write.refresh import ContentRefresher, WayWriter
from fll_hbase.tables import Batch, Put, Row, Sync, Table

PASSES_MAX = 50
"""Maximum number of passes before step 6 gives up with StoreUnavailable."""


class RunCommitter:
    """Commits runs to a table. Threads may share it.

    `clock` returns milliseconds since 1970. Content older than half of `grace_ms` is put again, and a pass
    that takes longer than half of it starts over.
    """

    def __init__(self, table: Table, events: EventMerger, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._events = events
        self._clock = clock
        # Half for the age of content at the start of a pass, half for the pass itself. Together this is the
        # grace period, within which garbage collection deletes nothing.
        self._pass_max_ms = grace_ms // 2
        self._refresher = ContentRefresher(table, lifetime_ms=grace_ms // 2)
        self._has_former_runs = True
        self._ways = WayWriter(table, lifetime_ms=grace_ms // 2)

    def record(self, inputs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        """Record runs and events, documents of a run in order; return a result or error for each, in order.

        An input whose result is an error is not visible to queries. Re-sending the last documents of a run in
        the same order is idempotent. Raises StoreUnavailable, CorruptRow for a damaged file, TooLarge if
        HBase refuses a cell, or ConfigurationError. After such an error, any input may be stored.
        """
        if len(inputs) == 1:
            # Usually clients record one run at a time, so there is nothing to order.
            return list(self._record([RunBatch(run_key_of(inputs[0]), [0], inputs, None)]).values())
        results: dict[int, CommitResult | LineageError] = {}
        for batches in split_into_rounds(inputs):
            # Passes with different runs need no order, like passes of other processes. While one waits for
            # the table, another is computed (decision 22).
            parallel = self._table.parallel_calls
            passes = split_into_passes(batches, parallel=parallel)
            for pass_results in map_in_threads(self._record, passes, threads_max=parallel):
                results |= pass_results
        return [results[position] for position in range(len(inputs))]

    def recommit(self, runs: Sequence[RunKey]) -> Rejections:
        """Put ways, days, references and commit records of runs again, computed from their rows.

        Returns an error for each rejected run: one without a row, or with an unreadable content. Raises
        StoreUnavailable, and CorruptRow for a damaged file.
        """
        self._ways.forget()
        # A pass computes one commit record per run, so no run may be in it twice.
        return self._commit_stored([PendingRecommit(run=run, incoming=()) for run in sorted(set(runs))])

    def move(self, rows: Mapping[RunKey, Row]) -> Rejections:
        """Move runs of an earlier release to their current rows; `rows` are the former rows by current key.

        Returns an error for each run where that is impossible, by current key, as for a run with an
        unreadable content. Raises StoreUnavailable, and CorruptRow for a damaged file. Repeating is safe.
        """
        return self._commit_stored(
            [PendingMove(run=run, former_row=row, incoming=()) for run, row in rows.items()]
        )

    def _commit_stored(self, runs: Sequence[PendingRun]) -> Rejections:
        """Commit stored runs, RUNS_PER_PASS_MAX at a time; return an error for each rejected run."""
        rejections: Rejections = {}
        for start in range(0, len(runs), RUNS_PER_PASS_MAX):
            self._commit_runs(runs[start : start + RUNS_PER_PASS_MAX], rejections)
        return rejections

    def _record(self, batches: Sequence[RunBatch]) -> dict[int, CommitResult | LineageError]:
        """Record the batches of one pass; return the result of each input by its position in the call."""
        rejections: Rejections = {}
        pending: dict[RunKey, PendingRun] = {}
        for batch in batches:
            try:
                # Check sizes before step 1: HBase rejects the whole batch if one cell is too long.
                pending[batch.run] = pending_run(batch)
            except TooLarge as error:
                rejections[batch.run] = error
        self._commit_runs(list(pending.values()), rejections)
        # Step 7: acknowledge. A run is either rejected or durable and found unchanged by step 6.
        results: dict[int, CommitResult | LineageError] = {}
        for batch in batches:
            rejection = rejections.get(batch.run)
            answers: Sequence[CommitResult | LineageError] = (
                [rejection] * len(batch.inputs) if rejection else pending[batch.run].results()
            )
            results |= zip(batch.positions, answers, strict=True)
        return results

    def _commit_runs(self, runs: Sequence[PendingRun], rejections: Rejections) -> None:
        """Commit each run or reject it, in passes. Raises StoreUnavailable after PASSES_MAX of them."""
        pending = self._read_current_state(runs, rejections)
        for _ in range(PASSES_MAX):
            # Runs that a repair moved start again in their other row.
            moved = [run for run in pending if run.is_moved]
            pending = [run for run in pending if not run.is_moved]
            for run in moved:
                run.store_in(run.run)
            pending += self._read_current_state(moved, rejections) if moved else ()
            # A document whose run id belongs to another program ends here, after the read of step 1.
            if not pending:
                return
            # Take the time once, before step 2 reads ages: the grace period limits the sum of an age at the
            # beginning and the duration of the pass.
            began_ms = self._clock()
            # Step 2: contents and event bodies that are missing, or that could be deleted during this pass.
            contents = self._refresher.contents_to_put(
                {run.run: run.info for run in pending}, began_ms, rejections
            )
            bodies = self._refresher.bodies_to_put(pending, began_ms, rejections)
            if rejections:
                pending = [run for run in pending if run.run not in rejections]
                contents, bodies = _restrict_to(pending, contents, bodies)
            try:
                self._put_content_and_cells(pending, contents, bodies, began_ms)
                pending = self._commit(pending, began_ms, rejections)
            except _DeadlineExceeded:
                # Start over at step 2, not 1: cells that are not yet in the row are still in `run.cells`, and
                # step 4 reads the row again anyway. Cells already in the row are put again: uncommitted cells
                # may now be older than the grace period, and be deleted at any time.
                for run in pending:
                    run.put_again()
            report_pass(pending)
        if not pending:
            return
        raise StoreUnavailable(
            f"run {pending[0].run.run!r} is written by other processes all the time; try again"
        )

    def _read_current_state(self, runs: Sequence[PendingRun], rejections: Rejections) -> list[PendingRun]:
        """Read the run rows (step 1) and set `cells` of each run to the cells that its row lacks.

        Adds a rejection for a run with an unreadable row, with too large an input, or of another program.
        Returns the other runs, in their order.
        """
        former = {
            run.run: layout.run_row(*run.former) for run in runs if self._has_former_runs and run.former
        }
        keys = [*(run.key for run in runs), *former.values()]
        if self._has_former_runs:
            # For a table of an earlier release in each pass, otherwise in the first pass of a process.
            keys.append(calendars.MARK_ROW)
        rows = self._table.rows(keys, columns=(layout.LIGHT,))
        if self._has_former_runs:
            self._has_former_runs = calendars.RUN_KEYS_COLUMN not in rows.get(calendars.MARK_ROW, {})
        for run in runs:
            try:
                row = rows.get(former.get(run.run, b""), {})
                if run_owner.is_former(run.run, row, self._events):
                    run.store_in(RunKey(run.run.run))
                run.load(rows.get(run.key, {}), self._events)
            except (TooLarge, CorruptRow, RunIdConflict) as error:
                rejections[run.run] = error
        return [run for run in runs if run.run not in rejections]

    def _put_content_and_cells(
        self,
        pending: Sequence[PendingRun],
        contents: Sequence[EncodedContent],
        bodies: Mapping[str, bytes],
        began_ms: int,
    ) -> None:
        """Put catalogue, contents, event bodies and the cells of the run rows, in this order (step 3).

        Empties the `cells` of the runs. Raises _DeadlineExceeded; batches already put stay.
        """
        batches: list[Batch] = []
        if contents or bodies:
            batches += _content_batches(contents, _catalogue_puts_of_events(pending, bodies))
            batches.append([run_rows.event_body_put(digest, body) for digest, body in bodies.items()])
        # Put content before the run row's cell, so that any writer can then complete the run (decision 2).
        batches.append([put for run in pending for put in run.cells])
        if any(batches):
            # Step 5 writes with Sync.NOW and makes these durable, too: a pass has one flush (decision 4).
            self._table.write(self._until_deadline(batches, began_ms), sync=Sync.LATER)
        # Note the beginning, because the clock may now be later than the engine's timestamps of the cells.
        self._refresher.note_put((*(content.endpoints.checksum for content in contents), *bodies), began_ms)
        # Clear cells only after the write: a pass that exceeds its deadline must put the same cells again.
        for run in pending:
            if run.bodies:
                self._events.cache_bodies(run.bodies)
            run.cells = []

    def _commit(
        self, pending: Sequence[PendingRun], began_ms: int, rejections: Rejections
    ) -> list[PendingRun]:
        """Run steps 4 to 6; return the runs that start over. Adds rejections. Raises _DeadlineExceeded."""
        self._compute_commits(pending, rejections)
        moved = [run for run in pending if run.is_moved]
        pending = [run for run in pending if not run.is_moved]
        # Step 4, last part: events of other writers may lead to a content that step 3 did not put.
        contents = self._refresher.contents_to_put(
            {run.run: run.derived_info for run in pending}, began_ms, rejections
        )
        pending = [run for run in pending if run.run not in rejections]
        endpoints = self._endpoints(pending, rejections)
        pending = [run for run in pending if run.run not in rejections]
        ready, again = _split_by_content(pending, endpoints, rejections)
        days = {calendar_rows.day_of_run(run.committed) for run in ready if run.committed}
        new_ways = self._ways.ways_to_put(days, began_ms)
        # Step 5. Put references before commit records, so that a committed run can always be found. New
        # tokens invalidate the seals of each day that a run joins or leaves.
        touched = days.union(*(run.former_days for run in ready))
        batches: list[Batch] = [
            *(_content_batches(contents) if contents else ()),
            [
                *(put for way in new_ways for put in calendar_rows.way_puts(*way, endpoints[way[0]])),
                *calendar_rows.touch_puts(touched, calendar_rows.new_token()),
                *_reference_puts(ready, endpoints),
            ],
            [run_rows.commit_put(run.key, run.commit_count, run.commit_value) for run in ready],
            *([marks] if (marks := [put for run in ready for put in run.last_puts()]) else ()),
        ]
        # The default Sync.NOW makes the runs durable before they are acknowledged.
        self._table.write(self._until_deadline(batches, began_ms))
        self._refresher.note_put((content.endpoints.checksum for content in contents), began_ms)
        self._ways.note_put(new_ways, began_ms)
        # Step 6 for the committed runs; the others start over in any case.
        return moved + again + self._changed_meanwhile(ready, began_ms)

    def _compute_commits(self, pending: Sequence[PendingRun], rejections: Rejections) -> None:
        """Read the run rows again and set the commit record and former days of each run (step 4).

        Adds a rejection for a run with an unreadable row, or whose record is too large to store. Raises
        StoreUnavailable if a cell that was put is missing.
        """
        # Concurrent writers put their cells before this read, so at least one of two writers sees both cells.
        # The other one starts over in step 6.
        rows = self._table.rows([run.key for run in pending], columns=(layout.LIGHT,))
        for run in pending:
            row = rows.get(run.key, {})
            try:
                run.compute_commit(row, self._events)
            except (TooLarge, CorruptRow) as error:
                rejections[run.run] = error
            else:
                run.former_days = set(filter(None, map(_committed_day, run.counted_in(row))))
                # If moved, the run's cells are in the other row, or are put again there.
                run.is_moved = layout.MOVED in row

    def _endpoints(
        self, pending: Sequence[PendingRun], rejections: Rejections
    ) -> dict[str, ContentEndpoints]:
        """Return the endpoints of the contents to commit by checksum, leaving out missing contents.

        Adds a rejection for each run whose latest document, of another writer, has an unreadable content.
        """
        infos = {info.checksum: info for run in pending for info in (run.info, run.derived_info) if info}
        endpoints = {
            checksum: ContentEndpoints(checksum, info.sources, info.destinations)
            for checksum, info in infos.items()
        }
        # The latest document may be another writer's, and only its content row names its datasets. Read that
        # row each time, without a cache: this pass did not refresh it, so it may be deleted at any time.
        others = {
            run.run: layout.content_row(run.committed.checksum)
            for run in pending
            if run.committed and run.committed.checksum not in endpoints
        }
        stored = read_endpoints(self._table, sorted(set(others.values())))
        for run, key in others.items():
            read = stored.get(key)
            if isinstance(read, CorruptRow):
                rejections[run] = read
            elif read is not None:
                endpoints[read.checksum] = read
        return endpoints

    def _changed_meanwhile(self, ready: Sequence[PendingRun], began_ms: int) -> list[PendingRun]:
        """Return the runs that start over because of new inputs or a deleted content (step 6).

        Returns all if the pass took more than half of the grace period. Forgets contents that are missing.
        """
        content_keys = {
            layout.content_row(run.committed.checksum): run.committed.checksum
            for run in ready
            if run.committed
        }
        rows = self._table.rows([*(run.key for run in ready), *content_keys], columns=(layout.LIGHT,))
        # The next pass would not put a missing content that is still cached as fresh.
        missing = {checksum for key, checksum in content_keys.items() if key not in rows}
        for checksum in missing:
            self._refresher.forget(checksum)
            self._ways.forget()
        # Check again, since the last batch of step 5 may itself have taken too long (decision 15).
        late = self._late(began_ms)
        return [
            run
            for run in ready
            if late
            or run.committed is None
            or run.committed.checksum in missing
            # Writers delete nothing and cells are named by digest, so an equal count means an unchanged row.
            or run_rows.input_count(rows.get(run.key, {})) != run.input_count
        ]

    def _until_deadline(self, batches: Iterable[Batch], began_ms: int) -> Iterator[Batch]:
        """Yield the batches. Raises _DeadlineExceeded before the first one for which the pass is too old."""
        # A generator, because Table.write takes one batch at a time: the clock is checked right before each.
        # A check only at the end would not help if a process pauses for hours and then dies (decision 15).
        for batch in batches:
            if self._late(began_ms):
                raise _DeadlineExceeded
            yield batch

    def _late(self, began_ms: int) -> bool:
        """Return whether a pass that began at `began_ms` has exceeded its maximum duration."""
        return self._clock() - began_ms > self._pass_max_ms


class _DeadlineExceeded(Exception):
    """Raised when a pass took more than half of the grace period; the pass starts over."""


def _restrict_to(
    pending: Iterable[PendingRun], contents: Iterable[EncodedContent], bodies: Mapping[str, bytes]
) -> tuple[list[EncodedContent], dict[str, bytes]]:
    """Return the contents and event bodies that pending runs need, but none needed only by rejected runs."""
    checksums = {run.info.checksum for run in pending if run.info is not None}
    digests = {digest for run in pending for digest in run.bodies}
    return (
        [content for content in contents if content.endpoints.checksum in checksums],
        {digest: body for digest, body in bodies.items() if digest in digests},
    )


def _split_by_content(
    pending: Iterable[PendingRun], endpoints: Mapping[str, ContentEndpoints], rejections: Rejections
) -> tuple[list[PendingRun], list[PendingRun]]:
    """Return the runs to commit, and the runs that start over because their latest content was deleted.

    Calls `append_again` of runs that start over; a run for which that is impossible goes to `rejections`.
    """
    ready: list[PendingRun] = []
    again: list[PendingRun] = []
    for run in pending:
        if run.committed is not None and run.committed.checksum in endpoints:
            ready.append(run)
            continue
        # Step 4: the content of the latest document is missing. The run's own document, put again with a
        # higher number, becomes the latest; step 3 of the next pass puts its content first.
        try:
            run.append_again()
            again.append(run)
        except CorruptRow as error:
            rejections[run.run] = error
    return ready, again


def _committed_day(row: Row) -> ContentDay | None:
    """Return the content and day for which a run row counts, or None without a readable commit record."""
    value = run_rows.commit_value(row)
    if value is None:
        return None
    try:
        return calendar_rows.day_of_head(run_rows.decode_head(value))
    except CorruptRow:
        # No reader counts such a run anywhere.
        return None


def _reference_puts(ready: Iterable[PendingRun], endpoints: Mapping[str, ContentEndpoints]) -> list[Put]:
    """Return the references of the committed runs, and their run index rows. Raises TooLarge."""
    puts: list[Put] = []
    for run in ready:
        if run.committed:
            endpoints_of_run = endpoints[run.committed.checksum]
            puts += run_rows.reference_puts(run.committed, endpoints_of_run, program=run.program)
            puts.append(run_rows.run_index_put(run.committed))
    return puts


def _content_batches(
    contents: Sequence[EncodedContent], catalogue_of_events: Iterable[Put] = ()
) -> list[Batch]:
    """Return two batches: catalogue cells of contents and events, each once, then the content rows."""
    # Put the catalogue first: garbage collection finds unneeded catalogue rows through the contents that name
    # them. Contents and bodies repeat the same datasets, so keep one put per cell.
    catalogue = [put for content in contents for put in content.catalogue]
    return [
        run_rows.last_put_per_cell([*catalogue, *catalogue_of_events]),
        [put for content in contents for put in content.data],
    ]


def _catalogue_puts_of_events(pending: Iterable[PendingRun], bodies: Mapping[str, bytes]) -> Iterator[Put]:
    """Yield the catalogue cells of events in pending runs whose bodies are to be put."""
    # Use each body alone, not the merged run: cells that depend on the order of arrival would differ between
    # an online and a bulk load of the same events (decision 1).
    for run in pending:
        for incoming in run.incoming if isinstance(run, PendingEvents) else ():
            if incoming.event.lineage_digest in bodies:
                part = run_events.decode_lineage(bodies[incoming.event.lineage_digest])
                info = lineage.build_lineage_lenient(event_operations.build_operations(part))
                yield from content_rows.catalogue_puts(info)
                for metadata in event_operations.dataset_metadata(part):
                    yield from content_rows.metadata_puts(metadata)
