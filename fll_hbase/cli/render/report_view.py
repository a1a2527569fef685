"""Reports rendered for a terminal: first the verdict, then the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.cli.render.table_layout import Prose
from fll_hbase.queries.reports.report_document import DESCRIPTIONS, PROSE_COLUMNS, Document, Section
from fll_hbase.runtime.escape import escape_control


def report_page(document: Document, *, has_annex: bool) -> RenderableType:
    """Render the title, the verdict, the limits and the tables of a report.

    Without `has_annex`, descriptions, the annex and all columns that are not brief are left out.
    """
    parts: list[RenderableType] = [Text(escape_control(document.title), style="bold")]
    parts += [
        Text(escape_control(f"{name}: {text}"), style="dim")
        for name, text in document.facts.items()
        if has_annex or name not in DESCRIPTIONS
    ]
    parts.append(Text())
    parts += [Text(escape_control(sentence)) for sentence in (*document.verdict, *document.warnings)]
    for section in (*document.sections, *document.annex) if has_annex else document.sections:
        parts += _section(section, () if has_annex else section.brief)
    if document.annex and not has_annex:
        hint = "--all shows every row and the runs; --output report.html writes a page to print."
        parts += [Text(), Text(hint, style="dim")]
    return Group(*parts)


def _section(section: Section, brief: Collection[str]) -> Iterator[RenderableType]:
    """Yield a title and the table below it, if any: the columns of `brief`, or of all, that have a value."""
    yield Text()
    yield Text(escape_control(section.title), style="bold")
    rows = section.rows
    if rows:
        filled = [
            number
            for number, column in enumerate(section.columns)
            if (not brief or column in brief) and any(row[number] for row in rows)
        ]
        columns = [section.columns[number] for number in filled]
        kinds = [Prose if column in PROSE_COLUMNS else str for column in columns]
        cells = [[kind(row[number]) for kind, number in zip(kinds, filled, strict=True)] for row in rows]
        yield TextTable(columns, cells)
