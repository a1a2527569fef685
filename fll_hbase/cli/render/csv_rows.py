"""Answers as CSV (RFC 4180): a header, then a line for each row; times in ISO 8601."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase import csv_text
from fll_hbase.cli.render.console import format_time
from fll_hbase.client.answers import TableAnswer


def csv_lines(answer: TableAnswer[Any]) -> Iterator[str]:
    """Yield the header and each row of an answer as a line of CSV, without its end."""
    times = set(answer.shape.times)
    yield csv_text.to_line(answer.columns)
    for row in answer:
        yield csv_text.to_line([_cell(row[name], is_time=name in times) for name in answer.columns])


def _cell(value: Any, *, is_time: bool) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not is_time:
        return value
    # Without a zone a spreadsheet would take it for local time; years beyond 9999 have no ISO form.
    text = format_time(value)
    return value if text.endswith("ms") else f"{text.replace(' ', 'T')}Z"
