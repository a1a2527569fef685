"""Cursors of lists: the last item of a page as opaque text, the same from a server and from a store."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

import msgspec

from fll_hbase.keys import layout
from fll_hbase.runtime.errors import CorruptRow, FieldError, InvalidQuery

INVALID = "invalid cursor; omit it to start at the first page"

SKIP_DIGITS_MAX = 15
"""Digits of the number in a cursor of derivations."""


def encode_cursor(*parts: str) -> str:
    """Return the last item of a page as opaque text; the next page starts after it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def decode_cursor(text: str, count: int) -> list[str]:
    """Return the parts of a cursor that `encode_cursor` made of `count` parts.

    Raises InvalidQuery for any other text, also the empty one.
    """
    try:
        # Cursors have no padding, since `=` would be escaped in links. Without `validate` b64decode skips
        # characters that are not base64, and many texts would be one cursor.
        padded = text + "=" * (-len(text) % 4)
        parts = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=list[str])
    except (binascii.Error, ValueError) as error:
        raise invalid_cursor() from error
    if len(parts) != count:
        raise invalid_cursor()
    return parts


def decode_runs_cursor(
    text: str | None, parse_tail: Callable[[bytes], object] = layout.parse_reference_tail
) -> bytes:
    """Return the tail of a key after which a page of runs starts; b"" for None. Raises InvalidQuery.

    `parse_tail` raises CorruptRow for a tail that no key can have; by default keys are those of references.
    """
    if text is None:
        return b""
    # The cursor is the tail of the last key (start and run): it stays valid if that run is purged.
    (tail,) = decode_cursor(text, 1)
    try:
        # Text of a client: a tail that no key can have is an error, not an arbitrary page.
        parse_tail(tail.encode())
    except (CorruptRow, UnicodeEncodeError) as error:
        raise invalid_cursor() from error
    return tail.encode()


def decode_skip_cursor(text: str | None) -> int:
    """Return how many runs of each derivation a page skips; 0 for None. Raises InvalidQuery."""
    if text is None:
        return 0
    (skip,) = decode_cursor(text, 1)
    if not (skip.isascii() and skip.isdecimal() and len(skip) <= SKIP_DIGITS_MAX):
        raise invalid_cursor()
    return int(skip)


def invalid_cursor() -> InvalidQuery:
    """Return the error for a cursor that does not come from a page before."""
    return InvalidQuery([FieldError("cursor", INVALID)])
