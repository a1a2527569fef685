"""Cells that a commit puts again, so that garbage collection spares them: contents, event bodies, ways."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from cachetools import LRUCache

from fll_hbase.keys import calendars, layout
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.runs import RunKey
from fll_hbase.runtime.errors import ChecksumConflict, LineageError, TooLarge
from fll_hbase.store.rows import content_rows
from fll_hbase.store.rows.calendar_mark import mark, mark_complete
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.content_rows import EncodedContent
from fll_hbase.store.write.pending_run import PendingRun, Rejections
from fll_hbase.tables import Table

K = TypeVar("K", bound=Hashable)

CACHED_NAMES_MAX = 100_000

_Way: TypeAlias = tuple[str, int]
"""Content and period."""


class FreshnessCache(Generic[K]):
    """Names of puts that garbage collection spares for `lifetime_ms` after the put. Threads may share it."""

    def __init__(self, lifetime_ms: int) -> None:
        self._lifetime_ms = lifetime_ms
        self._until_ms: LRUCache[K, int] = LRUCache(CACHED_NAMES_MAX)
        self._lock = threading.Lock()

    def is_fresh(self, name: K, now_ms: int) -> bool:
        """Return whether `now_ms` is in the lifetime of a name; False if it was never added."""
        with self._lock:
            return now_ms < self._until_ms.get(name, now_ms)

    def add(self, names: Iterable[K], put_ms: int) -> None:
        """Add names that were put at `put_ms` or later, replacing their former times."""
        with self._lock:
            self._until_ms.update(dict.fromkeys(names, put_ms + self._lifetime_ms))

    def remove(self, name: K) -> None:
        """Remove a name, if present."""
        with self._lock:
            self._until_ms.pop(name, None)

    def clear(self) -> None:
        """Remove all names."""
        with self._lock:
            self._until_ms.clear()


class ContentRefresher:
    """Step 2 of docs/reference/row-keys.md, "How rows are written". Threads may share it.

    Garbage collection deletes unneeded content that is older than the grace period. A pass therefore relies
    only on content younger than `lifetime_ms`, half of that period, and puts older content again.
    """

    def __init__(self, table: Table, *, lifetime_ms: int) -> None:
        self._table = table
        self._cache: FreshnessCache[str] = FreshnessCache(lifetime_ms)

    def contents_to_put(
        self, infos: Mapping[RunKey, FieldLineageInfo | None], now_ms: int, rejections: Rejections
    ) -> list[EncodedContent]:
        """Return the contents, given by run, that are missing or too old to rely on, each once.

        Adds a ChecksumConflict or TooLarge to `rejections` for each run whose content cannot be stored.
        """
        contents = []
        errors: dict[str, LineageError] = {}
        by_checksum = {info.checksum: info for info in infos.values() if info is not None}
        for checksum, info in by_checksum.items():
            # Younger than half the grace period (step 2), so neither encode nor read it again.
            if self._cache.is_fresh(checksum, now_ms):
                continue
            try:
                content = content_rows.encode_content(info)
                if not self._is_stored(content, now_ms):
                    contents.append(content)
            except (ChecksumConflict, TooLarge) as error:
                errors[checksum] = error
        if errors:
            rejections |= {
                run: errors[info.checksum] for run, info in infos.items() if info and info.checksum in errors
            }
        return contents

    def bodies_to_put(
        self, pending: Sequence[PendingRun], now_ms: int, rejections: Rejections
    ) -> dict[str, bytes]:
        """Return the runs' event bodies, by digest, that are missing or too old to rely on.

        Adds a ChecksumConflict to `rejections` for each run whose digest belongs to another body.
        """
        bodies = {
            digest: body
            for run in pending
            for digest, body in run.bodies.items()
            if not self._cache.is_fresh(digest, now_ms)
        }
        if not bodies:
            return {}
        keys = {digest: layout.event_body_row(digest) for digest in bodies}
        rows = self._table.rows(list(keys.values()), columns=(layout.EVENT_BODY,))
        to_put = {}
        for digest, body in bodies.items():
            # Compare in full, as for contents: a digest collision must not replace lineage of other runs.
            cell = rows.get(keys[digest], {}).get(layout.EVENT_BODY)
            if cell is not None and cell.value != body:
                message = (
                    f"digest {digest} belongs to another event body; nothing was stored, please report this"
                )
                rejections |= {run.run: ChecksumConflict(message) for run in pending if digest in run.bodies}
            elif cell is None or not self._is_young(digest, cell.stamp_ms, now_ms):
                to_put[digest] = body
        return to_put

    def note_put(self, names: Iterable[str], put_ms: int) -> None:
        """Note that contents and bodies with these checksums and digests were put at `put_ms` or later."""
        self._cache.add(names, put_ms)

    def forget(self, checksum: str) -> None:
        """Note that the content with this checksum is not stored."""
        self._cache.remove(checksum)

    def _is_stored(self, content: EncodedContent, now_ms: int) -> bool:
        """Return whether the table has the content, young enough to rely on. Raises ChecksumConflict."""
        checksum = content.endpoints.checksum
        # Read all columns: operations are compared one by one, and the oldest cell determines the age.
        row = self._table.get(layout.content_row(checksum))
        if not row:
            return False
        if not content_rows.has_same_operations(row, content):
            raise ChecksumConflict(
                f"checksum {checksum} belongs to other operations; nothing was stored, please report this"
            )
        # Garbage collection deletes single cells, so a row is only as young as its oldest cell.
        oldest_ms = min(cell.stamp_ms for cell in row.values())
        return self._is_young(checksum, oldest_ms, now_ms)

    def _is_young(self, name: str, stamp_ms: int, now_ms: int) -> bool:
        """Return whether `name`, put at `stamp_ms`, can be relied on at `now_ms`; cache when that ends."""
        # Use the cell's timestamp: from the time of this read, it would be trusted too long.
        self._cache.add([name], stamp_ms)
        return self._cache.is_fresh(name, now_ms)


class WayWriter:
    """The ways that step 5 of a commit puts. Threads may share it.

    Leaves out ways that this writer put within `lifetime_ms`, half the grace period: as with contents,
    garbage collection does not delete them before the commit ends.
    """

    def __init__(self, table: Table, *, lifetime_ms: int) -> None:
        self._table = table
        self._fresh: FreshnessCache[_Way] = FreshnessCache(lifetime_ms)
        self._table_marked = self._is_mark_old = False

    def ways_to_put(self, days: Iterable[ContentDay], began_ms: int) -> set[_Way]:
        """Return the ways of the days that a pass begun at `began_ms` must put, none that are still fresh.

        First puts the mark of complete calendars into a table without references, and again after `forget`.
        """
        ways = {(checksum, calendars.period_of(day)) for checksum, day in days}
        if ways and not self._table_marked:
            self._table_marked = mark(self._table)
        elif ways and self._is_mark_old:
            # Contents are missing, and the mark may be, too: the table may have been emptied since.
            mark_complete(self._table)
            self._is_mark_old = False
        return {way for way in ways if not self._fresh.is_fresh(way, began_ms)}

    def note_put(self, ways: Iterable[_Way], began_ms: int) -> None:
        """Note that a pass begun at `began_ms` put the ways from `ways_to_put`."""
        self._fresh.add(ways, began_ms)

    def forget(self) -> None:
        """Make the next passes put all ways and the mark again."""
        self._fresh.clear()
        self._is_mark_old = True
