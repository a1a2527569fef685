"""Key ranges over many rows, points where they may be split, and parsing of parts of keys, as namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape, parse_inverted_start, parse_run_segment, unescape
from fll_hbase.keys.layout import Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow

_START_DIGITS = 16
_SALTED = len(layout.RUNS) + 3
_PLAIN = rb"[A-Za-z0-9._~\-/:@=,]+"
_PLAIN_RUN_ROW = re.compile(rb"%b[0-9a-f]{2}\|%b(?:\+%b)?" % (re.escape(layout.RUNS), _PLAIN, _PLAIN))
"""The key of a run whose id and namespace need no escapes."""

_NAMESPACE_POSITIONS = {
    **dict.fromkeys((*layout.REFERENCES, layout.RUN_INDEX, layout.DATASETS, layout.ALIASES, layout.TAGS), 1),
    **dict.fromkeys((layout.WAYS, layout.TAG_INDEX), 2),
}
"""The position of the namespace among the segments of a key, from 0, by the prefix of the row kind."""


def prefix_range(prefix: bytes) -> Range:
    """Return the range of all keys that begin with a prefix, which must end with the separator."""
    return prefix, prefix_end(prefix)


def prefix_end(prefix: bytes) -> bytes:
    """Return the smallest bound above all keys with a prefix, which must end with the separator."""
    # "}" follows "|" in ASCII and occurs in no key, because names have it escaped.
    return prefix[:-1] + b"}"


def split_range(whole_range: Range, points: list[bytes]) -> list[Range]:
    """Split a range at the points inside it, in key order; other points are ignored."""
    start, stop = whole_range
    bounds = [start, *(point for point in sorted(set(points)) if start < point < stop), stop]
    return list(pairwise(bounds))


def split_point(key: bytes) -> bytes | None:
    """Return a point at or before `key` where a range may be split: between two milliseconds of references.

    Returns a key of fewer than four segments unchanged. Returns None if the fourth segment begins no start.
    """
    segments = key.split(SEPARATOR, 4)
    if len(segments) < 4:
        return key
    # Cut off the run: partitions of references are read as windows, in whole milliseconds.
    start = segments[3][:_START_DIGITS]
    try:
        parse_inverted_start(_padded(start))
    except CorruptRow:
        return None
    return SEPARATOR.join((*segments[:3], start))


def restrict_window(direction: Direction, dataset: Dataset, window: Window, part: Range) -> Window:
    """Return the part of the window, maybe empty, whose references lie in a range between split points."""
    prefix = layout.reference_prefix(direction, dataset)
    if part[1] <= prefix or prefix_end(prefix) <= part[0]:
        return window.within(window.stop_ms, window.stop_ms)
    # References sort newest first, so the start of the key range bounds the end of the window.
    stop_ms, start_ms = (
        _start_limit(bound[len(prefix) :]) if bound.startswith(prefix) else None for bound in part
    )
    return window.within(start_ms or 0, START_LIMIT_MS if stop_ms is None else stop_ms)


def escaped_run_of(key: bytes) -> bytes:
    """Return the last segment of the key of a run row. Raises CorruptRow for any other key."""
    run = key[_SALTED:]
    # `run_of` would unescape and escape the id of each row of a scan; most ids need neither.
    if not _PLAIN_RUN_ROW.fullmatch(key):
        run_of(key)
    elif layout.salt(run.partition(b"+")[0]) != key[len(layout.RUNS) : _SALTED - 1]:
        raise CorruptRow(f"{key!r} is not the key of a run row")
    return run


def run_of(key: bytes) -> RunKey:
    """Return the run of the key of a run row. Raises CorruptRow for any other key."""
    run = parse_run_segment(key.split(SEPARATOR, 2)[-1])
    if layout.run_row(*run) != key:
        raise CorruptRow(f"{key!r} is not the key of a run row")
    return run


def dataset_of(key: bytes) -> Dataset:
    """Return the dataset in the key of a catalogue row or reference, its prefix unchecked.

    Raises CorruptRow for fewer than three segments, and for names that are not escaped.
    """
    segments = key.split(SEPARATOR, 3)
    if len(segments) < 3:
        raise CorruptRow(f"{key!r} has no dataset")
    return Dataset(unescape(segments[1]), unescape(segments[2]))


def checksum_of(key: bytes) -> str:
    """Return the checksum of a content row's key, whose prefix is not checked.

    Raises CorruptRow if the rest is not 32 hex digits.
    """
    return layout.decode_checksum(key[len(layout.CONTENTS) :])


def _start_limit(bound: bytes) -> int:
    """Return the smallest start of references before a bound. Those at or after the bound start earlier."""
    return START_LIMIT_MS + 1 - int(_padded(bound), 16)


def _padded(start: bytes) -> bytes:
    """Return the beginning of an inverted start, padded with zeros to 16 digits."""
    # Zeros are the smallest continuation, so the same keys are below the padded bound.
    return start.ljust(_START_DIGITS, b"0")


def namespace_of(key: bytes) -> str | None:
    """Return the namespace of a key, or None for row kinds without one and for a key that ends before it.

    Raises CorruptRow if the namespace is not an escaped name.
    """
    _, segments = _split_at_namespace(key)
    return unescape(segments[0]) if segments else None


def escaped_namespace(key: bytes) -> bytes:
    """Return the escaped namespace of a key, unchecked, or b"" where `namespace_of` returns None."""
    _, segments = _split_at_namespace(key)
    return segments[0] if segments else b""


def only_namespace(start: bytes, stop: bytes) -> bytes:
    """Return the escaped namespace that all keys of a range share, or b"" if they share none.

    Also returns b"" if `start` does not contain the namespace with the separator after it.
    """
    head, segments = _split_at_namespace(start)
    # Without a separator after it, the segment may be only the beginning of a namespace, or end with a byte
    # that no name contains.
    if len(segments) < 2:
        return b""
    return segments[0] if _is_within(head + segments[0] + SEPARATOR, stop) else b""


def namespace_end(key: bytes) -> bytes:
    """Return the smallest bound above all keys of the same kind and namespace as `key`.

    For a row kind without a namespace, return the smallest key above `key`.
    """
    if key[:2] not in _NAMESPACE_POSITIONS:
        return key + b"\x00"
    head, segments = _split_at_namespace(key)
    return prefix_end(head + b"".join(segments[:1]) + SEPARATOR)


def namespace_head(start: bytes, stop: bytes) -> bytes:
    """Return what precedes the namespace in all keys of a range, b"" if that differs or if there is none."""
    head, segments = _split_at_namespace(start)
    return head if segments and _is_within(head, stop) else b""


def _split_at_namespace(key: bytes) -> tuple[bytes, list[bytes]]:
    """Return what precedes the namespace of a key, and a list of the namespace and, if any, the rest.

    The list is empty for row kinds without a namespace and for a key that ends before it.
    """
    position = _NAMESPACE_POSITIONS.get(key[:2])
    *head, rest = key.split(SEPARATOR, position or 0)
    if position is None or len(head) < position:
        return key, []
    return key[: len(key) - len(rest)], rest.split(SEPARATOR, 1)


def _is_within(prefix: bytes, stop: bytes) -> bool:
    """Return whether all keys from one with the prefix to `stop` (excluded) have the prefix."""
    return stop.startswith(prefix) or stop <= prefix_end(prefix)


def spans_of(patterns: Iterable[str]) -> list[Range]:
    """Return the key ranges, relative to a head, of the namespaces that match patterns; sorted, disjoint.

    A pattern is used up to its first `*`, so its range also has other namespaces that begin the same way.
    """
    spans: list[Range] = []
    for pattern in patterns:
        prefix, star, _ = pattern.partition("*")
        name = escape(prefix)
        spans.append((name, name + b"\x7f") if star else prefix_range(name + SEPARATOR))
    disjoint: list[Range] = []
    for start, stop in sorted(spans):
        if disjoint and start < disjoint[-1][1]:
            disjoint[-1] = disjoint[-1][0], max(stop, disjoint[-1][1])
        else:
            disjoint.append((start, stop))
    return disjoint
