"""Tags, policies, tokens and grants rendered as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import Cell, TextTable, member, rows_table, time_of
from fll_hbase.cli.render.table_layout import Column, Prose
from fll_hbase.queries.policies import rule, subject
from fll_hbase.queries.tables import Row

_TAG_COLUMNS = ("tag", "namespace", "name", "field", "at", "by", "description", "path")


def tags_table(rows: Sequence[Row], zone: str) -> RenderableType:
    """Render tags, with a column for each member that any of them has, or a hint without tags."""
    if not rows:
        return Text("No tags. Add a tag: `fll tag set NS/NAME.FIELD TAG`.")
    shown = [name for name in _TAG_COLUMNS if any(row.get(name) for row in rows)]
    columns: dict[str | Column, Cell] = {name: member(name) for name in shown}
    if "at" in columns:
        columns = {f"at ({zone})" if name == "at" else name: cell for name, cell in columns.items()}
        columns[f"at ({zone})"] = time_of("at", zone)
    return rows_table(rows, columns)


def policies_table(policies: Sequence[Row], zone: str) -> RenderableType:
    """Render policies with what they apply to, or a hint without policies."""
    if not policies:
        return Text("No policies; `fll policy set POLICY --max-age 90d --tag TAG` sets one.")
    columns: dict[str | Column, Cell] = {
        "policy": member("name"),
        "greatest age": member("maxAge"),
        "applies to": lambda row: Prose(subject(row)),
        "flow": lambda row: Prose(rule(row)),
        f"at ({zone})": time_of("at", zone),
        "description": member("description"),
    }
    if not any(map(rule, policies)):
        del columns["flow"]
    return rows_table(policies, columns)


def tokens_table(tokens: Sequence[Row], zone: str) -> RenderableType:
    """Render tokens, without their secrets, which are stored nowhere, or a hint without tokens."""
    if not tokens:
        return Text("No tokens; `fll token create NAME --role ROLE --namespace PATTERN` makes one.")
    times = {"created": "at", "expires": "expires", "revoked": "revoked"}
    columns: dict[str | Column, Cell] = {"id": member("id"), "name": member("name"), "grants": _grants}
    return rows_table(
        tokens, columns | {f"{title} ({zone})": time_of(name, zone) for title, name in times.items()}
    )


def grants_table(subjects: Sequence[Row]) -> RenderableType:
    """Render the grants of users and groups, a row for each grant, or a hint without subjects."""
    if not subjects:
        return Text("No grants; `fll grant set user:NAME --role ROLE --namespace PATTERN` gives one.")
    rows = [
        [entry["subject"], grant["role"], grant["namespace"]]
        for entry in subjects
        for grant in entry["grants"]
    ]
    return TextTable(("subject", "role", "namespaces"), rows)


def _grants(token: Row) -> Prose:
    """Return the grants of a token as text, such as `reader on bank, admin on *`."""
    return Prose(", ".join(f"{grant['role']} on {grant['namespace']}" for grant in token["grants"]))
