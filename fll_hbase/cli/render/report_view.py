"""Reports rendered as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.client.lineage_client import WindowText
from fll_hbase.queries import name_json
from fll_hbase.queries.policies import subject
from fll_hbase.queries.reports import retention_page
from fll_hbase.queries.reports.report_csv import Part, parts
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json

_WIDE_COLUMNS = {"checksum", "firstRun", "lastRun", "firstStart"}
"""Columns that are left out: a terminal is narrow, and the other formats have them."""


def report_view(body: Json, window: WindowText, *, causal: bool) -> RenderableType:
    """Render a heading and the tables of a report, empty ones included; `causal` is passed to `parts`."""
    heading = f"{body['report'].capitalize()} of {name_json.text(body['field'])}, {window}"
    return _parts(heading, parts(body, causal=causal), body)


def retention_view(body: Json, window: WindowText) -> RenderableType:
    """Render a heading and the tables of a retention report."""
    policy = body["policy"]
    rule = f"{policy['maxAge']} for {subject(policy)}"
    heading = f"Retention by policy {policy['name']}, {rule}, {window}"
    tables = (retention_page.FIELDS, retention_page.PROGRAMS)
    return _parts(heading, tables, retention_page.with_programs(body))


def _parts(heading: str, listed: Sequence[Part], body: Json) -> RenderableType:
    texts: list[RenderableType] = [Text(escape_control(heading), style="bold")]
    for part in listed:
        rows = list(part.rows(body))
        texts += [Text(), Text(f"{part.title}: {len(rows):,}", style="bold")]
        shown = [number for number, column in enumerate(part.columns) if column not in _WIDE_COLUMNS]
        if rows:
            columns = [part.columns[number] for number in shown]
            texts.append(TextTable(columns, [[row[number] for number in shown] for row in rows]))
    return Group(*texts)
