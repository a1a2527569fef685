"""Names as text that a picture or a page can show."""

from __future__ import annotations

import unicodedata
from html import escape
from itertools import accumulate, islice, takewhile

from fll_hbase.runtime.escape import escape_control

WHOLE_MAX = 2_000
"""Maximum number of characters of a name in the title of an element that shortens it."""

_TAIL = 10
_NO_XML = str.maketrans({"\ufffe": "\ufffd", "\uffff": "\ufffd"})


def markup(text: str) -> str:
    """Return a string, cut to WHOLE_MAX, for XML and HTML; control characters are escaped as in Python."""
    text = text if len(text) <= WHOLE_MAX else f"{text[: WHOLE_MAX - 1]}…"
    return escape(escape_control(text).translate(_NO_XML))


def width_of(text: str) -> float:
    """Return the width of a string in mean characters, counting at most its first 200 characters."""
    return sum(map(_width, islice(text, 200)))


def fit(text: str, room: float) -> str:
    """Return a string that fits a width in mean characters, with control characters escaped as in Python.

    `…` replaces the middle of a wider string, and of any string of over 200 characters.
    """
    text = escape_control(text if len(text) <= WHOLE_MAX else text[: WHOLE_MAX // 2] + text[-_TAIL:])
    if width_of(text) <= room and len(text) <= 200:
        return text
    tail = text[-min(_TAIL, int(room / 3)) :]
    ends = accumulate(map(_width, text))
    head = takewhile(lambda pair: pair[1] <= room - 1 - width_of(tail), zip(text, ends, strict=True))
    return f"{''.join(character for character, _ in head)}…{tail}"


def _width(character: str) -> float:
    """Return the width of a character: 0 if combining, 2 for East Asian ones and emoji, else up to 1.25."""
    if character.isascii():
        return 1.25 if character.isupper() or character in "mw@%" else 1.0
    if unicodedata.combining(character):
        return 0.0
    return 2.0 if unicodedata.east_asian_width(character) in "WF" else 1.15
