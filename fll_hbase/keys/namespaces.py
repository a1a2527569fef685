"""The namespace that a row belongs to, read from its key, and the end of the keys of one namespace."""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import SEPARATOR, escape, unescape
from fll_hbase.keys.layout import Range

_SEGMENTS = {
    **dict.fromkeys(layout.REFERENCES, 1),
    layout.WAYS: 2,
    layout.RUN_INDEX: 1,
    layout.DATASETS: 1,
    layout.ALIASES: 1,
    layout.TAGS: 1,
    layout.TAG_INDEX: 2,
}
"""The position of the namespace among the segments of a key, from 0, by the prefix of the row kind."""


def namespace_of(key: bytes) -> str | None:
    """Return the namespace of a key, or None for row kinds without one and for a key that ends before it.

    Raises CorruptRow if the namespace is not an escaped name.
    """
    position = _SEGMENTS.get(key[:2])
    if position is None:
        return None
    segments = key.split(SEPARATOR, position + 1)
    return unescape(segments[position]) if len(segments) > position else None


def escaped_namespace(key: bytes) -> bytes:
    """Return the escaped namespace of a key, unchecked, or b"" where `namespace_of` returns None."""
    position = _SEGMENTS.get(key[:2])
    if position is None:
        return b""
    segments = key.split(SEPARATOR, position + 1)
    return segments[position] if len(segments) > position else b""


def only_namespace(start: bytes, stop: bytes) -> bytes:
    """Return the escaped namespace that all keys of a range share, or b"" if they share none.

    Also returns b"" if `start` does not contain the namespace with the separator after it.
    """
    position = _SEGMENTS.get(start[:2])
    if position is None:
        return b""
    segments = start.split(SEPARATOR, position + 1)
    # Without a separator after it, the segment may be only the beginning of a namespace, or end with a byte
    # that no name contains.
    if len(segments) < position + 2:
        return b""
    head = start[: len(start) - len(segments[-1])]
    return segments[position] if stop.startswith(head) or stop <= ranges.prefix_end(head) else b""


def namespace_end(key: bytes) -> bytes:
    """Return the smallest bound above all keys of the same kind and namespace as `key`.

    For a row kind without a namespace, return the smallest key above `key`.
    """
    position = _SEGMENTS.get(key[:2])
    if position is None:
        return key + b"\x00"
    segments = key.split(SEPARATOR, position + 1)
    return ranges.prefix_end(SEPARATOR.join(segments[: position + 1]) + SEPARATOR)


def namespace_head(start: bytes, stop: bytes) -> bytes:
    """Return what precedes the namespace in all keys of a range, b"" if that differs or if there is none."""
    position = _SEGMENTS.get(start[:2])
    if position is None:
        return b""
    segments = start.split(SEPARATOR, position)
    if len(segments) <= position:
        return b""
    head = start[: len(start) - len(segments[-1])]
    return head if stop.startswith(head) or stop <= ranges.prefix_end(head) else b""


def spans_of(patterns: Iterable[str]) -> list[Range]:
    """Return the key ranges, relative to a head, of the namespaces that match patterns; sorted, disjoint.

    A pattern is used up to its first `*`, so its range also has other namespaces that begin the same way.
    """
    spans: list[Range] = []
    for pattern in sorted(patterns):
        prefix, star, _ = pattern.partition("*")
        name = escape(prefix)
        spans.append(
            (name, name + b"\x7f") if star else (name + SEPARATOR, ranges.prefix_end(name + SEPARATOR))
        )
    disjoint: list[Range] = []
    for start, stop in sorted(spans):
        if disjoint and start < disjoint[-1][1]:
            disjoint[-1] = disjoint[-1][0], max(stop, disjoint[-1][1])
        else:
            disjoint.append((start, stop))
    return disjoint
