"""Tags, policies, tokens and grants rendered as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable, member, rows_table, time_of
from fll_hbase.queries.policies import subject
from fll_hbase.queries.tables import Row

_TAG_COLUMNS = {
    "tag": member("tag"),
    "namespace": member("namespace"),
    "name": member("name"),
    "field": member("field"),
    "at": time_of("at"),
    "by": member("by"),
    "description": member("description"),
    "path": member("path"),
}
_POLICY_COLUMNS = {
    "policy": member("name"),
    "greatest age": member("maxAge"),
    "applies to": subject,
    "at (UTC)": time_of("at"),
    "description": member("description"),
}


def tags_table(rows: Sequence[Row]) -> RenderableType:
    """Render tags, with a column for each member that any of them has; without tags a hint."""
    if not rows:
        return Text("No tags; `fll tag set NS/NAME.FIELD TAG` gives a field one.")
    shown = {name: cell for name, cell in _TAG_COLUMNS.items() if any(row.get(name) for row in rows)}
    return rows_table(rows, {"at (UTC)" if name == "at" else name: cell for name, cell in shown.items()})


def policies_table(policies: Sequence[Row]) -> RenderableType:
    """Render policies with what they apply to; without policies a hint."""
    if not policies:
        return Text("No policies; `fll policy set POLICY --max-age 90d --tag TAG` puts one.")
    return rows_table(policies, _POLICY_COLUMNS)


def tokens_table(tokens: Sequence[Row]) -> RenderableType:
    """Render tokens, without their secrets, which are stored nowhere; without tokens a hint."""
    if not tokens:
        return Text("No tokens; `fll token create NAME --role ROLE --namespace PATTERN` makes one.")
    times = {"created": "at", "expires": "expires", "revoked": "revoked"}
    columns = {"id": member("id"), "name": member("name"), "grants": _grants}
    return rows_table(tokens, columns | {f"{title} (UTC)": time_of(name) for title, name in times.items()})


def grants_table(subjects: Sequence[Row]) -> RenderableType:
    """Render the grants of users and groups, a row for each grant; without subjects a hint."""
    if not subjects:
        return Text("No grants; `fll grant set user:NAME --role ROLE --namespace PATTERN` gives one.")
    rows = [
        [entry["subject"], grant["role"], grant["namespace"]]
        for entry in subjects
        for grant in entry["grants"]
    ]
    return TextTable(("subject", "role", "namespaces"), rows)


def _grants(token: Row) -> str:
    """Return the grants of a token as text, such as `reader on bank, admin on *`."""
    return ", ".join(f"{grant['role']} on {grant['namespace']}" for grant in token["grants"])
