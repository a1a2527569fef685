"""A table as somebody sees it who may not see all namespaces: every reader of the store stands on it."""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, islice

from cachetools import LRUCache

from fll_hbase.keys import layout, namespaces, ranges
from fll_hbase.keys.codec import unescape
from fll_hbase.model import masking
from fll_hbase.model.access import Role
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage_lenient
from fll_hbase.runtime.errors import CorruptRow, Forbidden, in_row
from fll_hbase.store import policies
from fll_hbase.store.endpoints import ContentEndpoints, decode_endpoints
from fll_hbase.store.rows import content_rows
from fll_hbase.tables import Batch, Cell, CellKey, Put, Row, Scan, Sync, Table
from fll_hbase.tables.base import Columns, StampedPut

CACHE_BYTES = 4 * 2**20
"""Size of the masked contents that are cached, of one view of several."""

_BYTES_PER_CELL = 200
"""Memory of a cell without its column and its value, measured."""

_DECISIONS_MAX = 10_000
"""Namespaces whose decision, whether they may be read, is cached."""

_SCAN_ROWS = 100
"""Rows of the first scan of a range with a limit. Each further one reads twice as many."""

_SCAN_ROWS_MAX = 5_000

_SPANS_MAX = 8
"""Ranges that a list of namespaces is read in: of more grants, those beside each other share one."""

_UNMASKED_MAX = 100_000
"""Contents of which it is cached that nothing is hidden."""

_SHOWN_AS_THEY_ARE = {layout.RUNS, layout.EVENT_BODIES, layout.CALENDARS, layout.PROPERTIES}
"""Kinds of rows of no namespace, of which VisibleRuns shows what may be seen."""

_MASKED = {layout.CONTENTS, layout.ALIASES, layout.POLICIES}
"""Kinds of rows of which a visible row is not shown as it is."""

_STEWARDED = (layout.TAGS, layout.TAG_INDEX, layout.POLICIES)
_ENDPOINTS = (layout.SOURCES, layout.DESTINATIONS)


@dataclass(frozen=True, slots=True)
class MaskedContent:
    """The row of a content as it is shown, and the checksum that it is shown with."""

    row: Row
    checksum: str


class VisibleTable:
    """A table without the rows of hidden namespaces, and with masked contents. Threads may share it.

    `may_read` decides by namespace, and what it allows matches one of `patterns`; `may_change` by the role
    that a change needs and its namespace, None for all. Rows that belong to no namespace, such as run rows,
    are as they are, but contents are masked and policies on hidden fields left out. Writes that `may_change`
    refuses raise Forbidden.
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
        # Of namespaces as they stand in keys: a question asks for few of them, thousands of times.
        self._reads = lru_cache(_DECISIONS_MAX)(lambda escaped: not escaped or may_read(unescape(escaped)))
        # Hidden namespaces outside of these are not even skipped: how long that takes would tell of them.
        self._spans = namespaces.spans_of(patterns)
        size = -(-len(self._spans) // _SPANS_MAX)
        groups = [self._spans[begin : begin + size] for begin in range(0, len(self._spans), size or 1)]
        self._wide_spans = [(group[0][0], group[-1][1]) for group in groups]
        self.parallel_calls = table.parallel_calls
        self._masked: LRUCache[bytes, tuple[int, MaskedContent]] = LRUCache(
            CACHE_BYTES, getsizeof=lambda item: item[0]
        )
        self._unmasked: LRUCache[bytes, bool] = LRUCache(_UNMASKED_MAX)
        # Apart from the rows: one that is too large, or evicted, must not be shown with its own checksum.
        self._checksums: LRUCache[bytes, str] = LRUCache(_UNMASKED_MAX)
        self._lock = threading.Lock()
        self.has_masked = False
        """Whether any content was masked: before, no answer can have a label of a dataset."""

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return the visible cells of one row, or {} for a hidden one."""
        return self.rows([row], columns=columns).get(row, {})

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return the visible cells of several rows by key, contents masked; hidden rows are left out."""
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
        """Iterate the visible rows of a range, with one seek for each hidden namespace in it."""
        namespace = _plain_namespace(start, stop)
        if namespace is None:
            return islice(self._scan(start, stop, columns, limit), limit)
        visible = self._reads(namespace)
        return self._table.scan(start, stop, columns=columns, limit=limit) if visible else iter(())

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return the visible rows of each scan, in the order of `scans`."""
        # A range within one namespace is read as it is, many in a call; others have to be sought through.
        namespaces_read = [_plain_namespace(scan.start, scan.stop) for scan in scans]
        is_visible = [escaped is not None and self._reads(escaped) for escaped in namespaces_read]
        read = iter(self._table.scan_many(list(compress(scans, is_visible))))
        results: list[list[tuple[bytes, Row]]] = []
        for scan, escaped, visible in zip(scans, namespaces_read, is_visible, strict=True):
            if visible:
                results.append(next(read))
            elif escaped is None:
                results.append(list(self.scan(scan.start, scan.stop, columns=scan.columns, limit=scan.limit)))
            else:
                results.append([])
        return results

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return []: jobs that divide ranges do not run on behalf of a principal."""
        return []

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Put cells. Raises Forbidden, before anything is written, for a row that may not be changed."""
        checked = [list(batch) for batch in batches]
        for put in (put for batch in checked for put in batch):
            role = Role.STEWARD if put.row.startswith(_STEWARDED) else Role.ADMIN
            for namespace in self._changed_namespaces(put):
                if not self._may_change(role, namespace):
                    raise self._forbidden(role, namespace)
        self._table.write(checked, sync=sync)

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        """Raise Forbidden always: copies of a store do not run on behalf of a principal."""
        raise Forbidden("a store is copied by `fll store copy` alone")

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Raise Forbidden always: nothing is deleted through a view."""
        raise Forbidden("rows are deleted by jobs of the store alone")

    def close(self) -> None:
        """Change nothing: the table belongs to the store that this is a view of."""

    def shows_whole(self, checksum: str) -> bool:
        """Return whether a content is stored and fully visible. One call, also for one that is not stored."""
        key = layout.content_row(checksum)
        if key in self._unmasked:
            return True
        # Never from what is cached of masked ones: an answer without a call would tell that there is one.
        row = self._table.get(key, columns=_ENDPOINTS)
        if not row or not self._sees_all(decode_endpoints(key, row)):
            return False
        with self._lock:
            self._unmasked[key] = True
        return True

    def public_checksum(self, checksum: str) -> str:
        """Return the checksum that a content is shown with, see `public_checksums`."""
        return self.public_checksums([checksum])[checksum]

    def public_checksums(self, checksums: Iterable[str]) -> dict[str, str]:
        """Return the checksums that contents are shown with, in one call for those that are not cached.

        A fully visible or missing content keeps its own. Otherwise it is the checksum of the content as it is
        shown, from which no name can be confirmed by guessing.
        """
        keys = {layout.content_row(checksum): checksum for checksum in checksums}
        unknown = [key for key in keys if key not in self._unmasked and key not in self._checksums]
        if unknown:
            self.rows(unknown, columns=_ENDPOINTS)
        with self._lock:
            shown = {key: self._checksums.get(key) for key in keys}
        return {name: shown[key] or name for key, name in keys.items()}

    def _forbidden(self, role: Role, namespace: str | None) -> Forbidden:
        """Return the error of a missing role. It does not name a namespace that the principal may not see."""
        if namespace is not None and not self._may_read(namespace):
            return Forbidden("this name is already in use; nothing was changed. Choose another one")
        where = "all namespaces" if namespace is None else f"namespace {namespace!r}"
        return Forbidden(f"this needs the role `{role.value}` on {where}; nothing was changed")

    def _is_visible(self, key: bytes) -> bool:
        """Return whether a row may be shown: none of access, others by the namespace in their key."""
        return self._reads(namespaces.escaped_namespace(key)) and not key.startswith(layout.ACCESS)

    def _shown(self, rows: Iterable[tuple[bytes, Row]], columns: Columns) -> Iterator[tuple[bytes, Row]]:
        """Yield rows of visible keys as they are shown. Those without any shown cell are left out."""
        for key, row in rows:
            if key.startswith(layout.CONTENTS):
                shown = self._shown_content(key, row, columns)
            elif key.startswith(layout.ALIASES):
                shown = {column: cell for column, cell in row.items() if self._shows_alias(column)}
            elif key.startswith(layout.POLICIES):
                shown = row if self._shows_policy(key, row) else {}
            else:
                shown = row
            if shown:
                yield key, shown

    def _scan(
        self, start: bytes, stop: bytes, columns: Columns, limit: int | None
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield the visible rows of a range, by the ranges in which namespaces may be visible."""
        head = namespaces.namespace_head(start, stop)
        if not head:
            yield from self._scan_range(start, stop, columns, limit)
            return
        name = start[len(head) :]
        spans = self._spans if start.startswith(layout.TAG_INDEX) else self._wide_spans
        # Lists of namespaces seek them one by one: most spans are passed over.
        index = bisect(spans, (name,))
        index -= index > 0 and name < spans[index - 1][1]
        for first, last in spans[index : index + 1]:
            yield from self._scan_range(max(start, head + first), min(stop, head + last), columns, limit)
        # Many grants are of namespaces without such rows: one call for all of them.
        others = [(head + first, min(stop, head + last)) for first, last in spans[index + 1 :]]
        looks = [Scan(*part, columns, 1) for part in others if part[0] < stop]
        for look, rows in zip(looks, self._table.scan_many(looks) if looks else (), strict=True):
            if rows:
                yield from self._scan_range(look.start, look.stop, columns, limit)

    def _scan_range(
        self, start: bytes, stop: bytes, columns: Columns, limit: int | None
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield the visible rows of a range, and skip hidden namespaces without reading them."""
        kind = start[:2]
        with_endpoints = _with_endpoints(columns) if kind == layout.CONTENTS else columns
        size = None if limit is None else min(limit, _SCAN_ROWS)
        while start < stop:
            rows = self._table.scan(start, stop, columns=with_endpoints, limit=size)
            read, next_start = 0, b""
            for key, row in rows:
                if not self._is_visible(key):
                    next_start = namespaces.namespace_end(key)
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

    def _shows_alias(self, column: bytes) -> bool:
        """Return whether a column of an alias row may be shown: no alias, or one in a readable namespace."""
        if not column.startswith(layout.ALIAS):
            return True
        return self._may_read(layout.parse_alias(column).namespace)

    def _shows_policy(self, key: bytes, row: Row) -> bool:
        """Return whether a policy is for tags, removed, or for a field in a readable namespace."""
        # Not by its value, which may be damaged.
        if namespace := layout.parse_policy(key)[1]:
            return self._may_read(namespace)
        if layout.POLICY not in row:
            return True
        try:
            policy = policies.decode_policy(key, row[layout.POLICY].value)
        except CorruptRow:
            # Its reader reports it. Its text is in no answer.
            return True
        return policy is None or policy.field is None or self._may_read(policy.field.dataset.namespace)

    def _changed_namespaces(self, put: Put) -> list[str | None]:
        """Return the namespaces that a change concerns, or None for one that concerns all."""
        if not put.row.startswith(layout.POLICIES):
            return [namespaces.namespace_of(put.row)]
        if namespace := layout.parse_policy(put.row)[1]:
            return [namespace]
        # A policy that is replaced or removed, also a hidden one, concerns the namespace of its field.
        stored = self._table.get(put.row, columns=(layout.POLICY,)).get(layout.POLICY)
        values = [put.value, *([stored.value] if stored else [])]
        decoded = (policies.decode_policy(put.row, value) for value in values)
        fields = [policy.field for policy in decoded if policy is not None]
        return [None if field is None else field.dataset.namespace for field in fields]

    def _shown_content(self, key: bytes, row: Row, columns: Columns) -> Row:
        """Return a content row as it is shown: itself if all its datasets are visible, else masked."""
        if key in self._unmasked:
            return _selected(row, columns)
        cached = self._cached(key)
        if cached is None:
            if self._sees_all(decode_endpoints(key, row)):
                with self._lock:
                    self._unmasked[key] = True
                return _selected(row, columns)
            cached = self._mask(key)
        return _selected(cached.row, columns)

    def _sees_all(self, endpoints: ContentEndpoints) -> bool:
        """Return whether all datasets that a content reads and writes are visible."""
        datasets = (*endpoints.sources, *endpoints.destinations)
        return all(map(self._may_read, {dataset.namespace for dataset in datasets}))

    def _cached(self, key: bytes) -> MaskedContent | None:
        """Return the masked row of a content from the cache, or None if it has none."""
        with self._lock:
            cached = self._masked.get(key)
        return cached[1] if cached else None

    def _mask(self, key: bytes) -> MaskedContent:
        """Read all operations of a content and return its row as it is encoded from the masked ones."""
        self.has_masked = True
        row = self._table.get(key, columns=(layout.HEAVY,))
        with in_row(key):
            stored = [
                content_rows.decode_operation(cell)
                for column, cell in row.items()
                if column.startswith(layout.OPERATION)
            ]
            info = build_lineage_lenient(masking.mask_operations(stored, self._may_read))
            masked = MaskedContent(_encode(info), masking.public_checksum(info.operations))
        with self._lock:
            self._checksums[key] = masked.checksum
        size = sum(len(column) + len(cell.value) + _BYTES_PER_CELL for column, cell in masked.row.items())
        if size <= CACHE_BYTES:
            with self._lock:
                self._masked[key] = size, masked
        return masked


def _encode(info: FieldLineageInfo) -> Row:
    """Return the cells of the content row of a lineage, with stamps of 0."""
    # The stamps of content rows are of no concern to readers.
    return {put.column: Cell(put.value, 0) for put in content_rows.encode_content(info).data}


def _with_endpoints(columns: Columns) -> Columns:
    """Return columns with those of a content's endpoints added, unless `columns` selects these already."""
    if not columns or layout.LIGHT in columns:
        return columns
    return (*columns, *_ENDPOINTS)


def _selected(row: Mapping[bytes, Cell], columns: Columns) -> Row:
    """Return the cells of a row that `columns` selects: full names, or `family:`; all if it is empty."""
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
    """Return the namespace of all keys of a range, as it stands there, if their rows are shown as they are.

    b"" for kinds of rows that belong to none, or None if there are several, or if rows are masked.
    """
    kind = start[:2]
    if kind in _SHOWN_AS_THEY_ARE:
        return b"" if stop <= ranges.prefix_end(kind) else None
    return None if kind in _MASKED else namespaces.only_namespace(start, stop) or None
