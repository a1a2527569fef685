"""Order-preserving encodings of names, times, days and runs in row keys.

docs/reference/row-keys.md specifies the format.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS
from fll_hbase.runtime.errors import CorruptRow, TooLarge

SEPARATOR = b"|"
KEY_BYTES_MAX = 32_767
"""HBase refuses longer row keys, and its message is only "Internal error"."""

DAY_MAX = 2**32 - 1
"""The last day since 1970 of a calendar; later days share it."""

# In addition to letters, digits and `_.-~`, which quote_from_bytes never escapes (`~` since Python 3.7).
_SAFE = "-/:@=,"

CACHED_CHARACTERS_MAX = 200
"""Maximum length of cached names: clients may send many names, of up to 4,096 bytes each."""


def escape(name: str) -> bytes:
    """Return the UTF-8 bytes of a name, escaped by `escape_bytes` for keys and columns; short ones cached."""
    return _escape(name) if len(name) <= CACHED_CHARACTERS_MAX else _escape.__wrapped__(name)


def unescape(segment: bytes) -> str:
    """Invert `escape`. Raises CorruptRow for any other bytes."""
    return _unescape(segment) if len(segment) <= CACHED_CHARACTERS_MAX else _unescape.__wrapped__(segment)


@lru_cache(maxsize=65_536)
def _escape(name: str) -> bytes:
    return escape_bytes(name.encode())


@lru_cache(maxsize=65_536)
def _unescape(segment: bytes) -> str:
    try:
        return unescape_bytes(segment).decode()
    except UnicodeDecodeError as error:
        raise CorruptRow(f"{segment!r} is not an escaped name") from error


def escape_bytes(name: bytes) -> bytes:
    """Encode every byte outside `A-Z a-z 0-9 . _ ~ - / : @ = ,` as `%XX`."""
    return quote_from_bytes(name, safe=_SAFE).encode("ascii")


def unescape_bytes(segment: bytes) -> bytes:
    """Invert `escape_bytes`. Raises CorruptRow for any other bytes."""
    name = unquote_to_bytes(segment)
    # Compare again, because unquoting accepts what escaping never writes: %41, %7e, a lone %.
    if escape_bytes(name) != segment:
        raise CorruptRow(f"{segment!r} is not an escaped name")
    return name


def join_key(*segments: bytes) -> bytes:
    """Join segments that the caller has escaped into a key. Raises TooLarge if HBase would refuse it."""
    return check_key_length(SEPARATOR.join(segments))


def check_key_length(key: bytes) -> bytes:
    """Return the key. Raises TooLarge if HBase would refuse it."""
    if len(key) > KEY_BYTES_MAX:
        raise TooLarge(f"names too long: a key of {len(key)} bytes, at most {KEY_BYTES_MAX} are stored")
    return key


def inverted_start(start_ms: int) -> bytes:
    """Return a start (ms since 1970) as 16 hex digits of START_LIMIT_MS minus it, which sort newest first."""
    return b"%016x" % (START_LIMIT_MS - start_ms)


def parse_inverted_start(segment: bytes) -> int:
    """Invert `inverted_start`. Raises CorruptRow for any other bytes."""
    return START_LIMIT_MS - parse_hex(segment, digits=16, largest=START_LIMIT_MS)


def day_of(start_ms: int) -> int:
    """Return the day since 1970 of a start in milliseconds; DAY_MAX for all later days."""
    # Late days share DAY_MAX instead of failing: starts may be up to day 106,751,991,167 (decision 0007).
    return min(start_ms // DAY_MS, DAY_MAX)


def parse_hex(segment: bytes, *, digits: int, largest: int) -> int:
    """Decode a number of exactly `digits` lower-case hex digits, at most `largest`. Raises CorruptRow."""
    # int() alone would also accept upper case, signs, blanks and underscores.
    if is_hex(segment, digits=digits):
        number = int(segment, 16)
        if number <= largest:
            return number
    raise CorruptRow(f"{segment!r} is not {digits} hex digits of at most {largest:x}")


def is_hex(segment: bytes, *, digits: int) -> bool:
    """Return whether a segment consists of exactly `digits` lower-case hex digits."""
    return len(segment) == digits and not segment.strip(b"0123456789abcdef")


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
