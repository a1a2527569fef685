"""How are names shown: in full, but never as commands to the terminal."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

_TURNS_TEXT = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(text: str) -> str:
    """The text with every character that moves, hides or turns other text written as an escape."""
    return text if text.isprintable() else "".join(map(_shown, text))


def moment(milliseconds: int) -> str:
    """A time in UTC to the second, or to the millisecond where it has them."""
    try:
        time = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"  # years beyond 9999
    fraction = f".{milliseconds % 1000:03d}" if milliseconds % 1000 else ""
    return f"{time:%Y-%m-%d %H:%M:%S}{fraction}"


def _shown(character: str) -> str:
    moves = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode() if moves or character in _TURNS_TEXT else character
