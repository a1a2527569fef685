"""Escapes for characters that a terminal or a line reader interprets, since clients choose names freely."""

from __future__ import annotations

import unicodedata

# The bidirectional controls of CVE-2021-42574. Other format characters, such as joiners, belong to scripts.
_DIRECTION_CHARACTERS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_control(text: str) -> str:
    """Escape each character of a string that moves the cursor, hides text or changes its direction."""
    return text if text.isprintable() else "".join(map(_escape, text))


def escape_control_json(text: str) -> str:
    """Escape the same characters in compact JSON of one line, without changing its value."""
    if text.isprintable():
        return text
    return "".join(f"\\u{ord(character):04x}" if _is_control(character) else character for character in text)


def _escape(character: str) -> str:
    """Return a character, or its Python escape, such as `\\n`, if `_is_control`."""
    return character.encode("unicode_escape").decode() if _is_control(character) else character


def _is_control(character: str) -> bool:
    """Return whether a character is a control, a surrogate, a line separator or a bidirectional control."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION_CHARACTERS
