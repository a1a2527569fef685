"""Which part of the table is it: ranges over many rows, cut where they may be, and keys read back."""

from __future__ import annotations

import re
from itertools import pairwise

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, parse_inverted_start, unescape
from fll_hbase.keys.layout import Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window

_START_DIGITS = 16
_SALTED = len(layout.RUNS) + 3
_PLAIN_RUN_ROW = re.compile(re.escape(layout.RUNS) + rb"[0-9a-f]{2}\|[A-Za-z0-9._~\-/:@=,]+")
"""The key of a run whose id needs no escapes."""


def prefix_range(prefix: bytes) -> Range:
    """All keys that begin with the prefix, which ends with the separator."""
    return prefix, prefix_end(prefix)


def prefix_end(prefix: bytes) -> bytes:
    """After all keys that begin with the prefix, which ends with the separator, and before any other."""
    return prefix[:-1] + b"}"


def split_range(whole: Range, cuts: list[bytes]) -> list[Range]:
    """The range in parts, from one cut to the next."""
    bounds = [whole[0], *(cut for cut in sorted(set(cuts)) if whole[0] < cut < whole[1]), whole[1]]
    return list(pairwise(bounds))


def split_point(key: bytes) -> bytes | None:
    """Where references may be parted near a key: those of one millisecond stay together; None for nowhere."""
    pieces = key.split(SEPARATOR, 4)
    if len(pieces) < 4:
        return key
    start = pieces[3][:_START_DIGITS]
    try:
        parse_inverted_start(_filled(start))
    except CorruptRow:
        return None
    return SEPARATOR.join((*pieces[:3], start))


def restrict_window(direction: Direction, end_point: Dataset, asked: Window, part: Range) -> Window:
    """As much of the window as lies in a part of references, between cuts or ends of windows."""
    prefix = layout.reference_prefix(direction, end_point)
    if part[1] <= prefix or prefix_end(prefix) <= part[0]:
        return Window(asked.stop_ms, asked.stop_ms)
    stop_ms, start_ms = (
        _start_beyond(bound[len(prefix) :]) if bound.startswith(prefix) else None for bound in part
    )
    stop_ms = asked.stop_ms if stop_ms is None else min(asked.stop_ms, stop_ms)
    start_ms = asked.start_ms if start_ms is None else max(asked.start_ms, start_ms)
    return Window(min(start_ms, stop_ms), stop_ms)


def escaped_run_of(key: bytes) -> bytes:
    """The run that a run row is of, escaped. Raises CorruptRow for any other key."""
    run = key[_SALTED:]
    if not _PLAIN_RUN_ROW.fullmatch(key):
        run_of(key)
    elif layout.salt(run) != key[len(layout.RUNS) : _SALTED - 1]:
        raise CorruptRow(f"{key!r} is not the key of a run row")
    return run


def run_of(key: bytes) -> str:
    """The run that a run row is of. Raises CorruptRow for any other key."""
    run = unescape(key.split(SEPARATOR, 2)[-1])
    if layout.run_row(run) != key:
        raise CorruptRow(f"{key!r} is not the key of a run row")
    return run


def dataset_of(key: bytes) -> Dataset:
    """The end point that a catalogue row or a reference is of. Raises CorruptRow for any other key."""
    pieces = key.split(SEPARATOR, 3)
    if len(pieces) < 3:
        raise CorruptRow(f"{key!r} names no end point")
    return Dataset(unescape(pieces[1]), unescape(pieces[2]))


def checksum_of(key: bytes) -> str:
    """The checksum that a data row is of. Raises CorruptRow for any other key."""
    return layout.decode_checksum(key[len(layout.CONTENTS) :])


def _start_beyond(bound: bytes) -> int:
    """The last start of what comes before a bound; what comes from there on starts earlier."""
    return START_LIMIT_MS + 1 - int(_filled(bound), 16)


def _filled(start: bytes) -> bytes:
    return start.ljust(_START_DIGITS, b"0")
