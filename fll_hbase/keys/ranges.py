"""Key ranges over many rows, points where they may be split, and parsing of parts of keys."""

from __future__ import annotations

import re
from itertools import pairwise

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, parse_inverted_start, unescape
from fll_hbase.keys.layout import Range
from fll_hbase.keys.packed_run import parse_run_segment
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow

_START_DIGITS = 16
_SALTED = len(layout.RUNS) + 3
_PLAIN = rb"[A-Za-z0-9._~\-/:@=,]+"
_PLAIN_RUN_ROW = re.compile(rb"%b[0-9a-f]{2}\|%b(?:\+%b)?" % (re.escape(layout.RUNS), _PLAIN, _PLAIN))
"""The key of a run whose id and namespace need no escapes."""


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
    """Return the part of the window whose references lie in a range between two split points."""
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
    """Return the dataset in the key of a catalogue row or reference. Raises CorruptRow if it has none."""
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
