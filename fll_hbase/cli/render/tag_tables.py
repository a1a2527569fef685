"""Tags and policies rendered as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.queries.policies import subject

_TAG_COLUMNS = ("tag", "namespace", "name", "field", "at", "by", "description", "path")


def tags_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Render tags: a column for each member that some of them has."""
    if not rows:
        return Text("No tags; `fll tag set NS/NAME.FIELD TAG` gives a field one.")
    columns = [column for column in _TAG_COLUMNS if any(row.get(column) for row in rows)]
    titles = ["at (UTC)" if column == "at" else column for column in columns]
    return TextTable(titles, [[_cell(column, row.get(column)) for column in columns] for row in rows])


def policies_table(policies: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Render policies with what they apply to."""
    if not policies:
        return Text("No policies; `fll policy set POLICY --max-age 90d --tag TAG` puts one.")
    rows = [
        [
            policy["name"],
            policy["maxAge"],
            subject(policy),
            format_time(policy["at"]),
            policy.get("description", ""),
        ]
        for policy in policies
    ]
    return TextTable(("policy", "greatest age", "applies to", "at (UTC)", "description"), rows)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    return format_time(value) if column == "at" else str(value)
