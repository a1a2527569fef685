"""How does one value become bytes that sort as it does: names, times and days.

The format is written down in docs/row-keys.md.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

from fll_hbase.errors import CorruptRow, TooLarge
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS

SEPARATOR = b"|"
KEY_BYTES_MAX = 32_767
"""HBase refuses longer row keys, and says no more than "Internal error"."""

DAY_MAX = 2**32 - 1
"""Days since 1970 that eight hex digits can tell; later ones share the last."""

_SAFE = "-/:@=,"


@lru_cache(maxsize=65_536)
def escape(name: str) -> bytes:
    """A name as it stands in keys."""
    return escape_bytes(name.encode())


@lru_cache(maxsize=65_536)
def unescape(piece: bytes) -> str:
    """The name that `escaped` made the piece of. Raises CorruptRow for any other bytes."""
    try:
        return unescape_bytes(piece).decode()
    except UnicodeDecodeError as error:
        raise CorruptRow(f"{piece!r} is not an escaped name") from error


def escape_bytes(name: bytes) -> bytes:
    """Every byte outside `A-Z a-z 0-9 . _ ~ - / : @ = ,` as `%XX`."""
    return quote_from_bytes(name, safe=_SAFE).encode("ascii")


def unescape_bytes(piece: bytes) -> bytes:
    """The bytes that `escaped_bytes` made the piece of. Raises CorruptRow for any other piece."""
    name = unquote_to_bytes(piece)
    if escape_bytes(name) != piece:
        raise CorruptRow(f"{piece!r} is not an escaped name")
    return name


def join_key(*pieces: bytes) -> bytes:
    """A key of pieces. Raises TooLarge where HBase would refuse it."""
    return check_key_length(SEPARATOR.join(pieces))


def check_key_length(key: bytes) -> bytes:
    """The key itself. Raises TooLarge where HBase would refuse it."""
    if len(key) > KEY_BYTES_MAX:
        raise TooLarge(f"names too long: a key of {len(key)} bytes, at most {KEY_BYTES_MAX} are stored")
    return key


def inverted_start(start_ms: int) -> bytes:
    """16 hex digits that sort newest first."""
    return b"%016x" % (START_LIMIT_MS - start_ms)


def parse_inverted_start(piece: bytes) -> int:
    """The start that `inverted_start` made the piece of."""
    return START_LIMIT_MS - _number(piece, digits=16, largest=START_LIMIT_MS)


def day_of(start_ms: int) -> int:
    """Days since 1970, at most DAY_MAX."""
    return min(start_ms // DAY_MS, DAY_MAX)


def inverted_day(day: int) -> bytes:
    """8 hex digits that sort newest first."""
    return b"%08x" % (DAY_MAX - day)


def parse_inverted_day(piece: bytes) -> int:
    """The day that `inverted_day` made the piece of."""
    return DAY_MAX - _number(piece, digits=8, largest=DAY_MAX)


def _number(piece: bytes, *, digits: int, largest: int) -> int:
    if len(piece) == digits and not piece.strip(b"0123456789abcdef"):
        number = int(piece, 16)
        if number <= largest:
            return number
    raise CorruptRow(f"{piece!r} is not {digits} hex digits of at most {largest:x}")
