"""A table as seen without the right to read all namespaces; all readers of a view use it."""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress, islice

from cachetools import LRUCache

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import unescape
from fll_hbase.model import masking
from fll_hbase.model.access import Role
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.lineage import build_lineage_lenient
from fll_hbase.runtime.errors import CorruptRow, Forbidden, in_row
from fll_hbase.store import policies
from fll_hbase.store.endpoints import ContentEndpoints, decode_endpoints
from fll_hbase.store.rows import content_rows
from fll_hbase.tables import Batch, Cell, CellKey, Put, Row, Scan, Sync, Table
from fll_hbase.tables.base import Columns, StampedPut

CACHE_BYTES = 4 * 2**20
"""Maximum size of the masked contents that one view caches; a store may have several views."""

_BYTES_PER_CELL = 200
"""Memory of a cell without its column and value, as measured."""

_DECISIONS_MAX = 10_000
"""Maximum number of namespaces with a cached decision on whether they may be read."""

_SCAN_ROWS = 100
"""Rows of the first scan of a range with a limit. Further scans each read twice as many."""

_SCAN_ROWS_MAX = 5_000

_SPANS_MAX = 8
"""Maximum number of ranges for reading lists of namespaces. If there are more, adjacent grants share one."""

_UNMASKED_MAX = 100_000
"""Maximum number of contents cached as having nothing hidden."""

_SHOWN_AS_THEY_ARE = {layout.RUNS, layout.EVENT_BODIES, layout.CALENDARS, layout.PROPERTIES}
"""Kinds of rows without a namespace; VisibleRuns shows their visible parts."""

_MASKED = {layout.CONTENTS, layout.ALIASES, layout.POLICIES}
"""Kinds of rows whose visible rows are shown masked."""

_STEWARDED = (layout.TAGS, layout.TAG_INDEX, layout.POLICIES)
_ENDPOINTS = (layout.SOURCES, layout.DESTINATIONS)


class VisibleTable:
    """A table without the rows of hidden namespaces, and with masked contents. Threads may share it.

    `may_read` decides by namespace, and the namespaces that it allows must match one of `patterns`.
    `may_change` decides by the role that a change needs and its namespace, None for all. Rows without a
    namespace, such as run rows, are shown unchanged, except that contents are masked and policies on hidden
    fields left out. Tokens and grants are never shown. Writes that `may_change` refuses raise Forbidden.
    Reads raise CorruptRow for a damaged content.
    """

    def __init__(
        self,
        table: Table,
        *,
        may_read: Callable[[str], bool],
        may_change: Callable[[Role, str | None], bool],
        patterns: Iterable[str] = ("*",),
    ) -> None:
        self._table = table
        self._may_read = may_read
        self._may_change = may_change
        # Keyed by escaped namespaces: a query checks a few of them thousands of times.
        self._reads = lru_cache(_DECISIONS_MAX)(lambda escaped: not escaped or may_read(unescape(escaped)))
        # Hidden namespaces outside these ranges are not even skipped: the time for that would reveal them.
        self._spans = ranges.spans_of(patterns)
        size = -(-len(self._spans) // _SPANS_MAX)
        groups = [self._spans[begin : begin + size] for begin in range(0, len(self._spans), size or 1)]
        self._wide_spans = [(group[0][0], group[-1][1]) for group in groups]
        self.parallel_calls = table.parallel_calls
        self._masked: LRUCache[bytes, tuple[int, Row]] = LRUCache(CACHE_BYTES, getsizeof=lambda item: item[0])
        self._unmasked: LRUCache[bytes, bool] = LRUCache(_UNMASKED_MAX)
        # Apart from the rows: a row that is too large, or evicted, must not show its own checksum.
        self._checksums: LRUCache[bytes, str] = LRUCache(_UNMASKED_MAX)
        self._lock = threading.Lock()
        self.has_masked = False
        """True once any content was masked. While False, no answer can contain a label of a dataset."""

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return the visible cells of one row, or {} if the row is hidden."""
        return self.rows([row], columns=columns).get(row, {})

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return the visible cells of several rows by key, masking contents and leaving out hidden rows."""
        kinds = {key[:2] for key in keys}
        if kinds <= _SHOWN_AS_THEY_ARE:
            return self._table.rows(keys, columns=columns)
        visible = [key for key in keys if self._is_visible(key)]
        if not visible:
            return {}
        if not kinds & _MASKED:
            return self._table.rows(visible, columns=columns)
        has_contents = layout.CONTENTS in kinds
        rows = self._table.rows(visible, columns=_with_endpoints(columns) if has_contents else columns)
        return dict(self._shown(rows.items(), columns))

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Iterate over the visible rows of a range, with one seek for each hidden namespace in it."""
        namespace = _plain_namespace(start, stop)
        if namespace is None:
            return islice(self._scan(start, stop, columns, limit), limit)
        visible = self._reads(namespace)
        return self._table.scan(start, stop, columns=columns, limit=limit) if visible else iter(())

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return the visible rows of each scan, in the order of `scans`."""
        # Ranges within one namespace are read unchanged, many per call; others require seeks.
        plain = (_plain_namespace(scan.start, scan.stop) for scan in scans)
        is_visible = [escaped is not None and self._reads(escaped) for escaped in plain]
        read = iter(self._table.scan_many(list(compress(scans, is_visible))))
        return [
            next(read)
            if visible
            else list(self.scan(scan.start, scan.stop, columns=scan.columns, limit=scan.limit))
            for scan, visible in zip(scans, is_visible, strict=True)
        ]

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return []: jobs that divide ranges do not run on behalf of a principal."""
        return []

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Put cells, if the principal is STEWARD for rows of tags and policies, and ADMIN for all others.

        Raises Forbidden, before writing anything, if any of the rows may not be changed.
        """
        checked = [list(batch) for batch in batches]
        for put in (put for batch in checked for put in batch):
            role = Role.STEWARD if put.row.startswith(_STEWARDED) else Role.ADMIN
            for namespace in self._changed_namespaces(put):
                if not self._may_change(role, namespace):
                    raise self._forbidden(role, namespace)
        self._table.write(checked, sync=sync)

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        """Always raise Forbidden, because copies of a store do not run on behalf of a principal."""
        raise Forbidden("a store is copied by `fll store copy` alone")

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Always raise Forbidden, because a view deletes nothing."""
        raise Forbidden("rows are deleted by jobs of the store alone")

    def close(self) -> None:
        """Change nothing: the table belongs to the underlying store."""

    def shows_whole(self, checksum: str) -> bool:
        """Return whether a content is stored and fully visible, with one call unless known as visible."""
        key = layout.content_row(checksum)
        if key in self._unmasked:
            return True
        # Use no cache of masked contents: an answer without a call would reveal that the content exists.
        row = self._table.get(key, columns=_ENDPOINTS)
        if not row or not self._sees_all(decode_endpoints(key, row)):
            return False
        with self._lock:
            self._unmasked[key] = True
        return True

    def public_checksum(self, checksum: str) -> str:
        """Return a content's own checksum if it is fully visible or missing, else that of what is shown."""
        return self.public_checksums([checksum])[checksum]

    def public_checksums(self, checksums: Iterable[str]) -> dict[str, str]:
        """Return the public checksums of contents, with one call for those that are not cached.

        Makes one more call for each masked one.
        A fully visible or missing content keeps its own checksum. Any other content has the checksum of what
        is shown, so that no name can be confirmed by guessing.
        """
        keys = {layout.content_row(checksum): checksum for checksum in checksums}
        unknown = [key for key in keys if key not in self._unmasked and key not in self._checksums]
        if unknown:
            self.rows(unknown, columns=_ENDPOINTS)
        with self._lock:
            shown = {key: self._checksums.get(key) for key in keys}
        return {name: shown[key] or name for key, name in keys.items()}

    def _forbidden(self, role: Role, namespace: str | None) -> Forbidden:
        """Return the error of a missing role, without naming a namespace that the principal may not see."""
        if namespace is not None and not self._may_read(namespace):
            return Forbidden("this name is already in use; nothing was changed. Choose another one")
        where = "all namespaces" if namespace is None else f"namespace {namespace!r}"
        return Forbidden(f"this needs the role `{role.value}` on {where}; nothing was changed")

    def _is_visible(self, key: bytes) -> bool:
        """Return whether a row may be shown, by the namespace in its key; access rows never are."""
        return self._reads(ranges.escaped_namespace(key)) and not key.startswith(layout.ACCESS)

    def _shown(self, rows: Iterable[tuple[bytes, Row]], columns: Columns) -> Iterator[tuple[bytes, Row]]:
        """Yield visible rows as shown, leaving out rows without any shown cell."""
        for key, row in rows:
            if key.startswith(layout.CONTENTS):
                shown = self._shown_content(key, row, columns)
            elif key.startswith(layout.ALIASES):
                shown = {
                    column: cell
                    for column, cell in row.items()
                    if not column.startswith(layout.ALIAS)
                    or self._may_read(layout.parse_alias(column).namespace)
                }
            elif key.startswith(layout.POLICIES):
                shown = row if self._shows_policy(key, row) else {}
            else:
                shown = row
            if shown:
                yield key, shown

    def _scan(
        self, start: bytes, stop: bytes, columns: Columns, limit: int | None
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield the visible rows of a range, using the ranges in which namespaces may be visible."""
        head = ranges.namespace_head(start, stop)
        if not head:
            yield from self._scan_range(start, stop, columns, limit)
            return
        name = start[len(head) :]
        spans = self._spans if start.startswith(layout.TAG_INDEX) else self._wide_spans
        # Lists of namespaces seek one namespace after another, so most spans are skipped.
        index = bisect(spans, (name,))
        index -= index > 0 and name < spans[index - 1][1]
        for first, last in spans[index : index + 1]:
            yield from self._scan_range(max(start, head + first), min(stop, head + last), columns, limit)
        # Many grants are for namespaces without such rows: check all of them in one call.
        others = [(head + first, min(stop, head + last)) for first, last in spans[index + 1 :]]
        looks = [Scan(*part, columns, 1) for part in others if part[0] < stop]
        for look, rows in zip(looks, self._table.scan_many(looks) if looks else (), strict=True):
            if rows:
                yield from self._scan_range(look.start, look.stop, columns, limit)

    def _scan_range(
        self, start: bytes, stop: bytes, columns: Columns, limit: int | None
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield the visible rows of a range, skipping hidden namespaces without reading them."""
        kind = start[:2]
        with_endpoints = _with_endpoints(columns) if kind == layout.CONTENTS else columns
        size = None if limit is None else min(limit, _SCAN_ROWS)
        while start < stop:
            rows = self._table.scan(start, stop, columns=with_endpoints, limit=size)
            read, next_start = 0, b""
            for key, row in rows:
                if not self._is_visible(key):
                    next_start = ranges.namespace_end(key)
                    break
                if kind in _MASKED:
                    yield from self._shown([(key, row)], columns)
                else:
                    yield key, row
                read, last = read + 1, key
            if not next_start:
                if size is None or read < size:
                    return
                next_start, size = last + b"\x00", min(2 * size, _SCAN_ROWS_MAX)
            start = next_start

    def _shows_policy(self, key: bytes, row: Row) -> bool:
        """Return whether a policy is removed or damaged, or names readable namespaces or none."""
        # Use the key rather than the value, which may be damaged.
        if namespace := layout.parse_policy(key)[1]:
            return self._may_read(namespace)
        if layout.POLICY not in row:
            return True
        try:
            policy = policies.decode_policy(key, row[layout.POLICY].value)
        except CorruptRow:
            # Its reader reports the damage, without showing its text.
            return True
        if isinstance(policy, FlowPolicy):
            # Its patterns may name a hidden namespace.
            return all(any(map(self._may_read, texts)) for texts in policy.namespace_texts())
        return policy is None or policy.field is None or self._may_read(policy.field.dataset.namespace)

    def _changed_namespaces(self, put: Put) -> list[str | None]:
        """Return the namespaces that a change affects, with None for a change that affects all."""
        if not put.row.startswith(layout.POLICIES):
            return [ranges.namespace_of(put.row)]
        if namespace := layout.parse_policy(put.row)[1]:
            return [namespace]
        # Replacing or removing a policy, even a hidden one, affects the namespace of its field.
        stored = self._table.get(put.row, columns=(layout.POLICY,)).get(layout.POLICY)
        values = [put.value, *([stored.value] if stored else [])]
        decoded = (policies.decode_policy(put.row, value) for value in values)
        fields = [policy.field for policy in decoded if policy is not None]
        return [None if field is None else field.dataset.namespace for field in fields]

    def _shown_content(self, key: bytes, row: Row, columns: Columns) -> Row:
        """Return a content row as shown: itself if all datasets are visible, else masked, {} if deleted."""
        if key in self._unmasked:
            return _selected(row, columns)
        with self._lock:
            cached = self._masked.get(key)
        if cached is not None:
            return _selected(cached[1], columns)
        if self._sees_all(decode_endpoints(key, row)):
            with self._lock:
                self._unmasked[key] = True
            return _selected(row, columns)
        return _selected(self._mask(key), columns)

    def _sees_all(self, endpoints: ContentEndpoints) -> bool:
        """Return whether all datasets that a content reads and writes are visible."""
        datasets = (*endpoints.sources, *endpoints.destinations)
        return all(map(self._may_read, {dataset.namespace for dataset in datasets}))

    def _mask(self, key: bytes) -> Row:
        """Read all operations of a content and return its row, encoded from the masked operations.

        Returns {} for a content deleted since its row was read, because it may be recorded again.
        """
        self.has_masked = True
        row = self._table.get(key, columns=(layout.HEAVY,))
        if not row:
            return {}
        with in_row(key):
            stored = [
                content_rows.decode_operation(cell)
                for column, cell in row.items()
                if column.startswith(layout.OPERATION)
            ]
            info = build_lineage_lenient(masking.mask_operations(stored, self._may_read))
            # Readers of content rows ignore the stamps.
            masked = {put.column: Cell(put.value, 0) for put in content_rows.encode_content(info).data}
            checksum = masking.public_checksum(info.operations)
        size = sum(len(column) + len(cell.value) + _BYTES_PER_CELL for column, cell in masked.items())
        with self._lock:
            self._checksums[key] = checksum
            if size <= CACHE_BYTES:
                self._masked[key] = size, masked
        return masked


def _with_endpoints(columns: Columns) -> Columns:
    """Return columns plus the columns of a content's endpoints, unless `columns` already selects these."""
    if not columns or layout.LIGHT in columns:
        return columns
    return (*columns, *_ENDPOINTS)


def _selected(row: Mapping[bytes, Cell], columns: Columns) -> Row:
    """Return the cells of a row that `columns` selects by full name or `family:`; all if it is empty."""
    if not columns:
        return dict(row)
    families = {column for column in columns if column.endswith(b":")}
    wanted = set(columns)
    return {
        column: cell
        for column, cell in row.items()
        if column in wanted or column[: column.index(b":") + 1] in families
    }


def _plain_namespace(start: bytes, stop: bytes) -> bytes | None:
    """Return the escaped namespace of all keys of a range, if their rows are shown unchanged.

    Returns b"" for row kinds without a namespace, and None if there are several or if rows are masked.
    """
    kind = start[:2]
    if kind in _SHOWN_AS_THEY_ARE:
        return b"" if stop <= ranges.prefix_end(kind) else None
    return None if kind in _MASKED else ranges.only_namespace(start, stop) or None
