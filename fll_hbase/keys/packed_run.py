"""Run keys as the last segment of row keys, and packed for the run index: 23 bytes for a UUID, not 36.

docs/reference/row-keys.md specifies the format.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import lru_cache

from fll_hbase.keys.codec import CACHED_CHARACTERS_MAX, escape, escape_bytes, unescape
from fll_hbase.model.runs import RunKey
from fll_hbase.runtime.errors import CorruptRow

_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARK = b"+"
"""Begins a packed UUID, and separates a run id from its namespace; `escape` never writes it."""

_DIGITS = 22
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ORDERED = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
"""Digits in the order of their bytes, so that packed UUIDs sort as the UUIDs do."""

_TO_ORDERED, _FROM_ORDERED = bytes.maketrans(_BASE64, _ORDERED), bytes.maketrans(_ORDERED, _BASE64)


def run_segment(run: str, namespace: str = "") -> bytes:
    """Return the last segment of the keys of a run, given the id and the namespace of its `RunKey`."""
    # Cached, because a commit needs the segment for each kind of row of the run.
    is_short = len(run) + len(namespace) <= CACHED_CHARACTERS_MAX
    return _segment(run, namespace) if is_short else _segment.__wrapped__(run, namespace)


@lru_cache(maxsize=65_536)
def _segment(run: str, namespace: str) -> bytes:
    # The id comes first, so that the runs of one id in all namespaces are neighbours.
    segment = escape_bytes(run.encode())
    return segment + _MARK + escape(namespace) if namespace else segment


def parse_run_segment(segment: bytes) -> RunKey:
    """Invert `run_segment`; short ones are cached. Raises CorruptRow for any other bytes."""
    return _parse(segment) if len(segment) <= CACHED_CHARACTERS_MAX else _parse.__wrapped__(segment)


@lru_cache(maxsize=65_536)
def _parse(segment: bytes) -> RunKey:
    run, mark, namespace = segment.partition(_MARK)
    if mark and not namespace:
        raise CorruptRow(f"{segment!r} is not the run of a key")
    return RunKey(unescape(run), unescape(namespace))


def pack_run(run: str, namespace: str = "") -> bytes:
    """Return the last segment of a run index key: a lower-case UUID packed, any other id escaped."""
    return pack_escaped_run(run_segment(run, namespace))


def pack_escaped_run(run: bytes) -> bytes:
    """Return `pack_run` of a segment that `run_segment` returned."""
    if not _UUID.fullmatch(run):
        return run
    number = binascii.unhexlify(run.replace(b"-", b""))
    return _MARK + binascii.b2a_base64(number, newline=False)[:_DIGITS].translate(_TO_ORDERED)


def unpack_run(segment: bytes) -> RunKey:
    """Return the run of a segment of `pack_run`. Raises CorruptRow for any other bytes."""
    if not segment.startswith(_MARK):
        key = parse_run_segment(segment)
    else:
        try:
            digits = b64decode(segment[1:].translate(_FROM_ORDERED) + b"==", validate=True).hex()
        except binascii.Error as error:
            raise CorruptRow(f"{segment!r} is not a packed run id") from error
        key = RunKey("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
    # Pack again to reject escaped UUIDs and digits beyond 128 bits: this index contains neither.
    if pack_run(*key) != segment:
        raise CorruptRow(f"{segment!r} is not the run id of a key")
    return key
