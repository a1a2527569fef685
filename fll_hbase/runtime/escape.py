"""Escapes for what terminals, line readers and spreadsheets interpret: clients choose names freely.

Rows as CSV (RFC 4180) are safe to open in a spreadsheet (decision 38).
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

# The bidirectional controls of CVE-2021-42574. Other format characters, such as joiners, belong to scripts.
_DIRECTION_CHARACTERS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# Text that a spreadsheet takes for a formula. Leading apostrophes match too, so that escaping is reversible.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def escape_control(text: str) -> str:
    """Escape as Python does each character that moves the cursor, hides text or changes its direction."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode() if _is_control(character) else character
        for character in text
    )


def escape_control_json(text: str) -> str:
    """Escape the same characters in compact JSON of one line, without changing its value."""
    if text.isprintable():
        return text
    return "".join(f"\\u{ord(character):04x}" if _is_control(character) else character for character in text)


def _is_control(character: str) -> bool:
    """Return whether a character is a control, a surrogate, a line separator or a bidirectional control."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION_CHARACTERS


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return `columns`, then rows with `'` before texts that look like formulas; lines end with CR and LF."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(map(_safe_cells, rows))
    return text.getvalue()


def to_line(cells: Iterable[object]) -> str:
    """Return one row as CSV without a line end, with an apostrophe before texts that look like formulas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(_safe_cells(cells))
    return text.getvalue()


def _safe_cells(cells: Iterable[object]) -> list[object]:
    """Return cells with an apostrophe before each text that a spreadsheet would take for a formula.

    Numbers, including negative ones, stay as they are.
    """
    return [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells]
