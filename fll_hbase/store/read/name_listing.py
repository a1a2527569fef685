"""Names of namespaces and datasets in code point order, read from keys that sort by escaped bytes.

Escapes begin with `%`, which sorts below every unescaped byte, and the `|` that ends a namespace sorts above
nearly all of them. A range that is too long for one batch is therefore split by the next byte of its names,
and the parts are listed in code point order (decision 6).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape_bytes, unescape_bytes
from fll_hbase.tables import Table

BATCH_NAMES = 500
"""Maximum number of names per scan; a longer range is split."""

# `&` follows `%`, so it separates escaped from unescaped bytes; 0x7f sorts above `|` and every key byte.
_FIRST_UNESCAPED, _LAST = b"&", b"\x7f"


class LastNames:
    """Names in the last segment of keys with a prefix, for rows with a column; escaped as in keys."""

    def __init__(self, table: Table, prefix: bytes, *, column: bytes) -> None:
        self._table = table
        self._prefix = prefix
        self._column = column

    def scan(self, start: bytes, stop: bytes, limit: int) -> list[bytes]:
        """Return at most `limit` escaped names from `start` (included) to `stop` (excluded), in key order."""
        prefix = self._prefix
        rows = self._table.scan(prefix + start, prefix + stop, columns=(self._column,), limit=limit)
        return [key[len(prefix) :] for key, _ in rows]

    def contains(self, name: bytes) -> bool:
        """Return whether the escaped name exists."""
        return bool(self.scan(name, name + b"\x00", 1))


class MiddleNames:
    """Names that follow a prefix in keys with further segments, escaped as in keys. Each takes one seek."""

    def __init__(self, table: Table, prefix: bytes, *, column: bytes) -> None:
        self._table = table
        self._prefix = prefix
        self._column = column

    def scan(self, start: bytes, stop: bytes, limit: int) -> list[bytes]:
        """Return at most `limit` escaped names from `start` (included) to `stop` (excluded), in key order."""
        prefix = self._prefix
        names: list[bytes] = []
        while len(names) < limit:
            rows = self._table.scan(prefix + start, prefix + stop, columns=(self._column,), limit=1)
            first = next(rows, None)
            if first is None:
                break
            names.append(first[0][len(prefix) :].partition(SEPARATOR)[0])
            # Seek over all keys with this name.
            start = names[-1] + SEPARATOR + _LAST
        return names

    def contains(self, name: bytes) -> bool:
        """Return whether the escaped name exists."""
        return bool(self.scan(name + SEPARATOR, name + SEPARATOR + _LAST, 1))


def dataset_names(table: Table, namespace: str) -> LastNames:
    """Return a reader of the dataset names of one namespace; reads nothing yet."""
    return LastNames(table, layout.dataset_prefix(namespace), column=layout.EXISTS)


def namespace_names(table: Table) -> MiddleNames:
    """Return a reader of all namespaces; reads nothing yet."""
    return MiddleNames(table, layout.DATASETS, column=layout.EXISTS)


def list_names(
    names: LastNames | MiddleNames, *, prefix: bytes = b"", start_after: bytes = b""
) -> Iterator[str]:
    """Yield the names with a prefix after `start_after`, in code point order. Both are unescaped UTF-8."""
    # All names with this prefix sort before `start_after`.
    if prefix < start_after[: len(prefix)]:
        return
    start = escape_bytes(prefix)
    batch = names.scan(start, start + _LAST, BATCH_NAMES)
    if len(batch) < BATCH_NAMES:
        # Sort as bytes, because UTF-8 sorts in code point order.
        yield from (name.decode() for name in sorted(map(unescape_bytes, batch)) if name > start_after)
        return
    # The parts below contain only longer names.
    if prefix > start_after and names.contains(start):
        yield prefix.decode()
    for byte in _next_bytes(names, start):
        yield from list_names(names, prefix=prefix + byte, start_after=start_after)


def _next_bytes(names: LastNames | MiddleNames, prefix: bytes) -> list[bytes]:
    """Return the sorted, unescaped bytes that follow an escaped prefix in any name, with one seek each."""
    following = []
    ranges = ((prefix + b"%", prefix + _FIRST_UNESCAPED), (prefix + _FIRST_UNESCAPED, prefix + _LAST))
    for start, stop in ranges:
        while name := next(iter(names.scan(start, stop, 1)), None):
            # The unit is empty only if the prefix is a whole namespace, whose keys continue with `|`.
            unit = name[len(prefix) :][: 3 if name[len(prefix) :].startswith(b"%") else 1]
            following += [unescape_bytes(unit)] if unit else []
            start = prefix + (unit or SEPARATOR) + _LAST
    return sorted(following)


def batch_names(names: Iterator[str]) -> Iterator[list[str]]:
    """Yield names in lists of BATCH_NAMES, never empty; the last one may be shorter."""
    while batch := list(islice(names, BATCH_NAMES)):
        yield batch
