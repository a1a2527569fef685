"""In which order are names listed: by code point, out of keys that sort otherwise.

Escaped bytes begin with `%`, below every byte that is kept, and `|` ends a namespace above nearly all of
them. So a range too long for one batch is taken apart by the next byte of the names, in their own order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape_bytes, unescape_bytes
from fll_hbase.tables import Table

BATCH_NAMES = 500
_FIRST_KEPT, _LAST = b"&", b"\x7f"


class DatasetNames:
    """The end points of one namespace, as pieces of keys."""

    def __init__(self, table: Table, namespace: str) -> None:
        self._table = table
        self._base = layout.dataset_prefix(namespace)

    def pieces(self, start: bytes, stop: bytes, limit: int) -> list[bytes]:
        """Escaped names from `start` (in) to `stop` (out), in key order."""
        base = self._base
        found = self._table.scan(base + start, base + stop, columns=(layout.EXISTS,), limit=limit)
        return [row[len(base) :] for row, _ in found]

    def has(self, piece: bytes) -> bool:
        return bool(self.pieces(piece, piece + b"\x00", 1))


class NamespaceNames:
    """All namespaces, as pieces of keys: one seek each."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def pieces(self, start: bytes, stop: bytes, limit: int) -> list[bytes]:
        """Escaped names from `start` (in) to `stop` (out), in key order."""
        base = layout.DATASETS
        found: list[bytes] = []
        while len(found) < limit:
            rows = self._table.scan(base + start, base + stop, columns=(layout.EXISTS,), limit=1)
            first = next(rows, None)
            if first is None:
                break
            found.append(first[0][len(base) :].partition(SEPARATOR)[0])
            start = found[-1] + SEPARATOR + _LAST
        return found

    def has(self, piece: bytes) -> bool:
        return bool(self.pieces(piece + SEPARATOR, piece + SEPARATOR + _LAST, 1))


def list_names(
    names: DatasetNames | NamespaceNames, *, prefix: bytes = b"", after: bytes = b""
) -> Iterator[str]:
    """Names that begin with `prefix` by code point, from beyond `after`; both as UTF-8."""
    if prefix < after[: len(prefix)]:
        return
    begin = escape_bytes(prefix)
    batch = names.pieces(begin, begin + _LAST, BATCH_NAMES)
    if len(batch) < BATCH_NAMES:
        yield from (name.decode() for name in sorted(map(unescape_bytes, batch)) if name > after)
        return
    if prefix > after and names.has(begin):
        yield prefix.decode()
    for byte in _next_bytes(names, begin):
        yield from list_names(names, prefix=prefix + byte, after=after)


def _next_bytes(names: DatasetNames | NamespaceNames, begin: bytes) -> list[bytes]:
    """The bytes that come after `begin` in some name, sorted; one seek each."""
    found = []
    for start, stop in ((begin + b"%", begin + _FIRST_KEPT), (begin + _FIRST_KEPT, begin + _LAST)):
        while piece := next(iter(names.pieces(start, stop, 1)), None):
            unit = piece[len(begin) :][: 3 if piece[len(begin) :].startswith(b"%") else 1]
            found += [unescape_bytes(unit)] if unit else []
            start = begin + (unit or SEPARATOR) + _LAST
    return sorted(found)


def batch_names(names: Iterator[str]) -> Iterator[list[str]]:
    """A bounded number of names at a time."""
    while batch := list(islice(names, BATCH_NAMES)):
        yield batch
