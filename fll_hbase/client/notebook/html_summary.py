"""Answers in HTML: a table of the first rows, or the members of an answer without a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from fll_hbase.client.answers import TableAnswer
from fll_hbase.client.notebook.shown_text import markup
from fll_hbase.queries import name_json
from fll_hbase.queries.query import Query
from fll_hbase.queries.reports.report_document import Stamp, count_text
from fll_hbase.queries.tables import named_json

ROWS_MAX = 60
"""Maximum number of rows of a table, as many as pandas shows by default."""

CELL_MAX = 120
"""Maximum number of characters in a cell; the title of a cut cell contains the whole text."""

_BESIDE = frozenset({"start", "end", "cursor", "limit"})
"""Parameters that are not listed: the window and the warnings of an answer already say them."""

_TIMES = frozenset({"firstStart", "lastStart", "startTime", "endTime", "retainedFrom"})
_SPAN = re.compile("(?<=[a-z])(?=[A-Z])")


def title_of(query: Query[Any] | None) -> str:
    """Return the kind and subject of a query, such as `Reach of bank/RiskScores.risk_band`, or `Answer`."""
    if query is None:
        return "Answer"
    first, *others = _SPAN.sub(" ", type(query).__name__.replace("OpenL", "Openl")).split()
    kind = " ".join([first, *map(str.lower, others)]).replace("penline", "penLine")
    names = {item.name: str(getattr(query, item.name)) for item in fields(query) if _is_required(item)}  # type: ignore[arg-type]
    field = f".{names.pop('field')}" if "field" in names else ""
    return f"{kind} of {'/'.join(names.values())}{field}" if names else kind


def facts_of(answer: TableAnswer[Any]) -> list[str]:
    """Return the window of an answer, if any, and optional parameters that differ from their default."""
    facts = []
    if answer.window:
        start, stop = map(_time, (answer.window.start_ms, answer.window.stop_ms))
        facts.append(f"runs started {start} to {stop} UTC")
    for item in fields(answer.query) if answer.query else ():  # type: ignore[arg-type]
        value = getattr(answer.query, item.name)
        if item.name not in _BESIDE and not _is_required(item) and value != item.default:
            facts.append(f"{item.name}={value}")
    return facts


def warnings_of(answer: TableAnswer[Any]) -> list[str]:
    """Return warnings about truncation, and about runs that may have been deleted."""
    warnings = [f"Not complete: {answer.incomplete}."] if answer.incomplete else []
    if answer.retained_from_ms is not None:
        warnings.append(f"Runs before {_time(answer.retained_from_ms)} UTC may have been deleted.")
    return warnings


def to_html(answer: TableAnswer[Any]) -> str:
    """Return an answer as escaped HTML without scripts or styles: its first ROWS_MAX rows, or its members."""
    facts = facts_of(answer)
    if answer.columns:
        rows = answer.rows
        count = count_text(len(rows), "row")
        facts.append(count if len(rows) <= ROWS_MAX else f"the first {ROWS_MAX} of {count}")
        shown = [
            [_cell(value, is_time=name in answer.shape.times) for name, value in row.items()]
            for row in rows[:ROWS_MAX]
        ]
        table = _table(shown, answer.columns)
    else:
        table = _table(list(_members(named_json(answer.body))))
    verdict = getattr(answer.body, "verdict", None)
    return "\n".join(
        [
            f"<div><p><strong>{markup(title_of(answer.query))}</strong><br>{markup(' · '.join(facts))}</p>",
            *(f"<p>{markup(text)}</p>" for text in [verdict] if text),
            *(f"<p><em>{markup(text)}</em></p>" for text in warnings_of(answer)),
            *table,
            "</div>",
        ]
    )


def _is_required(item: Any) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _members(body: Any) -> Iterator[list[str]]:
    """Yield the members of an answer as rows, with the lengths of lists and the names of objects."""
    for name, value in (body if isinstance(body, Mapping) else {"answer": body}).items():
        if isinstance(value, list | tuple):
            value = count_text(len(value), "item")
        elif isinstance(value, Mapping):
            value = name_json.text(value) if "name" in value else ", ".join(value)
        yield [f"<th>{markup(name)}</th>", _cell(value, is_time=name in _TIMES)]


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "<table>"
    if columns:
        yield f"<thead><tr>{''.join(f'<th>{markup(name)}</th>' for name in columns)}</tr></thead>"
    yield "<tbody>"
    yield from (f"<tr>{''.join(cells)}</tr>" for cells in rows)
    yield "</tbody></table>"


def _cell(value: Any, *, is_time: bool) -> str:
    """Return a value as a cell of at most CELL_MAX characters, with None as "" and a time as text."""
    if value is None:
        return "<td></td>"
    text = _time(value) if is_time and isinstance(value, int) else str(value)
    if len(text) <= CELL_MAX:
        return f"<td>{markup(text)}</td>"
    return f'<td title="{markup(text)}">{markup(text[: CELL_MAX - 1])}…</td>'


def _time(milliseconds: int) -> str:
    return Stamp(0).time(milliseconds)
