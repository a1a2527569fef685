"""Order-preserving encodings of names, times and days in row keys.

docs/reference/row-keys.md specifies the format.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

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
    return _escape(name) if len(name) <= CACHED_CHARACTERS_MAX else escape_bytes(name.encode())


def unescape(segment: bytes) -> str:
    """Invert `escape`. Raises CorruptRow for any other bytes."""
    return _unescape(segment) if len(segment) <= CACHED_CHARACTERS_MAX else _decode(segment)


@lru_cache(maxsize=65_536)
def _escape(name: str) -> bytes:
    return escape_bytes(name.encode())


@lru_cache(maxsize=65_536)
def _unescape(segment: bytes) -> str:
    return _decode(segment)


def _decode(segment: bytes) -> str:
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
    """Decode a number of exactly `digits` lower-case hex digits. Raises CorruptRow, also above `largest`."""
    # int() alone would also accept upper case, signs, spaces and underscores.
    if is_hex(segment, digits=digits):
        number = int(segment, 16)
        if number <= largest:
            return number
    raise CorruptRow(f"{segment!r} is not {digits} hex digits of at most {largest:x}")


def is_hex(segment: bytes, *, digits: int) -> bool:
    """Return whether a segment consists of exactly `digits` lower-case hex digits."""
    return len(segment) == digits and not segment.strip(b"0123456789abcdef")
