"""Rows as CSV (RFC 4180), safe to open in a spreadsheet (decision 38)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

# Text that a spreadsheet takes for a formula. Leading apostrophes match too, so that escaping is reversible.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return `columns` as a header line, then the rows, escaped as in `to_line`; lines end with CR and LF."""
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
