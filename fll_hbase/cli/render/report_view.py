"""Reports rendered for a terminal: the verdict first, then as many rows as fit on a screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.queries.reports.report_document import Document, Section
from fll_hbase.runtime.escape import escape_control

ROWS_SHOWN = 12
"""Rows of a table that a terminal shows; a pipe gets all."""


class DocumentView:
    """A report as text; a terminal gets the first rows of each table, and how many more there are."""

    def __init__(self, document: Document, *, shows_all: bool = False) -> None:
        self._document = document
        self._shows_all = shows_all

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the verdict, what limits the report, and its tables."""
        document = self._document
        yield Text(escape_control(document.title), style="bold")
        for name, text in document.facts.items():
            yield Text(escape_control(f"{name}: {text}"), style="dim")
        yield Text()
        for sentence in (*document.verdict, *document.warnings):
            yield Text(escape_control(sentence))
        is_cut = console.is_terminal and not self._shows_all
        for section in document.sections if is_cut else (*document.sections, *document.annex):
            yield from _section(section, rows_max=ROWS_SHOWN if is_cut else None)
        if is_cut and document.annex:
            yield Text()
            yield Text(
                "--all shows every row and the runs; --output report.html writes a page to print.",
                style="dim",
            )


def _section(section: Section, *, rows_max: int | None) -> Iterator[RenderableType]:
    """Yield a table below its title, and how many rows are left out."""
    yield Text()
    yield Text(escape_control(section.title), style="bold")
    rows = section.rows[:rows_max]
    if rows:
        filled = [number for number in range(len(section.columns)) if any(row[number] for row in rows)]
        columns = [section.columns[number] for number in filled]
        yield TextTable(columns, [[row[number] for number in filled] for row in rows])
    if len(rows) < len(section.rows):
        yield Text(f"and {len(section.rows) - len(rows):,} more", style="dim")
