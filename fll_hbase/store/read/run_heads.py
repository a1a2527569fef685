"""Runs that wrote a dataset, without their programs: what references and commit records say of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from fll_hbase import deadline
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction, Window
from fll_hbase.store import run_rows
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.requested_horizons import RequestedHorizons
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.run_rows import CommittedHead
from fll_hbase.tables import Table

BATCH_RUNS = 1_000
"""References of one call, and the run rows of another."""


class RunHead(NamedTuple):
    """A run by the tail of its references, which sorts newest first, and by its content."""

    tail: bytes
    run: str
    start_ms: int
    checksum: str


class RunHeadReader:
    """Reads runs without decoding their programs and events. Threads may share it."""

    def __init__(self, table: Table, contents: ContentCache, requests: RequestedHorizons) -> None:
        self._table = table
        self._requests = requests
        self._contents = contents

    def writers(self, names: Sequence[Dataset], window: Window, *, failed: bool) -> Iterator[RunHead]:
        """Yield the runs of the window that wrote a dataset under any of its names, once, newest first.

        Failed and aborted ones only with `failed`. The field maps of their contents are cached.
        """
        heads = heapq.merge(
            *(self._heads(WindowQuery(Direction.BACKWARD, name, window, failed)) for name in names)
        )
        # A run that used several names of the dataset has a reference for each of them.
        return (head for head, _ in groupby(heads))

    def _heads(self, query: WindowQuery) -> Iterator[RunHead]:
        query = self._requests.restrict(query)
        start, stop = layout.window_range(query.direction, query.dataset, query.window)
        prefix = layout.reference_prefix(query.direction, query.dataset)
        while True:
            deadline.check()
            page = list(self._table.scan(start, stop, limit=BATCH_RUNS))
            yield from self._confirm(query, [key[len(prefix) :] for key, _ in page])
            if len(page) < BATCH_RUNS:
                return
            # A zero byte makes the smallest key after the last one.
            start = page[-1][0] + b"\x00"

    def _confirm(self, query: WindowQuery, tails: Sequence[bytes]) -> Iterator[RunHead]:
        """Yield those of the referenced runs that match the query, in order."""
        references = {tail: layout.parse_reference_tail(tail) for tail in tails}
        heads = self._committed_heads({tail: reference.run for tail, reference in references.items()})
        checksums = {head.checksum for head in heads.values()}
        self._contents.load(self._contents.find_missing(checksums))
        # Looked up once for each content: all runs of a page may have the same one.
        written = {
            checksum
            for checksum in checksums
            if self._contents.has_dataset(checksum, query.direction, query.dataset)
        }
        for tail, head in heads.items():
            reference = references[tail]
            # A reference with another start is left from a document that was replaced (docs/row-keys.md).
            is_valid = head.start_ms == reference.start_ms and head.checksum in written
            if is_valid and (query.failed or not head.state.failed):
                yield RunHead(tail, reference.run, head.start_ms, head.checksum)

    def _committed_heads(self, runs: dict[bytes, str]) -> dict[bytes, CommittedHead]:
        """Return the head of the commit record of each run by reference tail, where there is one."""
        keys = {tail: layout.run_row(run) for tail, run in runs.items()}
        rows = self._table.rows(list(keys.values()), columns=(layout.LIGHT,))
        values = {tail: run_rows.commit_value(rows[key]) for tail, key in keys.items() if key in rows}
        return {tail: run_rows.decode_head(value) for tail, value in values.items() if value is not None}
