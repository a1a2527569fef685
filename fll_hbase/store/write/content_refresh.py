"""Contents and event bodies to put before a commit: missing ones, and those that may soon be deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fll_hbase.keys import layout
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.runtime.errors import ChecksumConflict, LineageError, TooLarge
from fll_hbase.store.rows import content_rows
from fll_hbase.store.rows.content_rows import EncodedContent
from fll_hbase.store.write.freshness import FreshnessCache
from fll_hbase.store.write.pending_run import PendingRun, Rejections
from fll_hbase.tables import Table


class ContentRefresher:
    """Step 2 of docs/row-keys.md, "How rows are written". Threads may share it.

    Garbage collection deletes content that no run needs and that is older than the grace period. So a pass
    relies only on content younger than `lifetime_ms`, half of that period, and puts older content again.
    """

    def __init__(self, table: Table, *, lifetime_ms: int) -> None:
        self._table = table
        self._lifetime_ms = lifetime_ms
        self._cache: FreshnessCache[str] = FreshnessCache()

    def contents_to_put(
        self, infos: Mapping[str, FieldLineageInfo | None], now_ms: int, rejections: Rejections
    ) -> list[EncodedContent]:
        """Return the contents, given by run id, that are missing or old.

        Adds a ChecksumConflict or TooLarge to `rejections` for each run whose content cannot be stored.
        """
        contents = []
        errors: dict[str, LineageError] = {}
        by_checksum = {info.checksum: info for info in infos.values() if info is not None}
        for checksum, info in by_checksum.items():
            # Known to be younger than half the grace period (step 2): neither encoded nor read again.
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
        """Return the event bodies by digest that are missing or old.

        Adds a ChecksumConflict to `rejections` for each run whose digest belongs to another body.
        """
        bodies = {
            digest: body
            for run in pending
            for digest, body in run.bodies.items()
            if not self._cache.is_fresh(digest, now_ms)
        }
        keys = {digest: layout.event_body_row(digest) for digest in bodies}
        rows = self._table.rows(list(keys.values()), columns=(layout.EVENT_BODY,)) if keys else {}
        to_put = {}
        for digest, body in bodies.items():
            # Compared in full, as contents are: a digest collision must not replace lineage of other runs.
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
        """Note that the contents and bodies of these checksums and digests were put at `put_ms` or later."""
        for name in names:
            self._cache.add(name, put_ms + self._lifetime_ms)

    def forget(self, checksum: str) -> None:
        """Note that the content of the checksum is not stored."""
        self._cache.remove(checksum)

    def _is_stored(self, content: EncodedContent, now_ms: int) -> bool:
        """Return whether the table has the content, young enough to rely on. Raises ChecksumConflict."""
        checksum = content.endpoints.checksum
        # All columns: the operations are compared one by one, and the age is that of the oldest cell.
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
        # From the timestamp of the cell: counted from the time of this read it would be trusted too long.
        self._cache.add(name, stamp_ms + self._lifetime_ms)
        return self._cache.is_fresh(name, now_ms)
