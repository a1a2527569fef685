"""Tokens and grants rendered as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.result_tables import TextTable


def tokens_table(tokens: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Render tokens, without their secrets, which are stored nowhere."""
    if not tokens:
        return Text("No tokens; `fll token create NAME --role ROLE --namespace PATTERN` makes one.")
    rows = [
        [
            token["id"],
            token["name"],
            _grants(token["grants"]),
            format_time(token["at"]),
            _time(token.get("expires")),
            _time(token.get("revoked")),
        ]
        for token in tokens
    ]
    return TextTable(("id", "name", "grants", "created (UTC)", "expires (UTC)", "revoked (UTC)"), rows)


def grants_table(subjects: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Render the grants of users and groups, a row for each."""
    if not subjects:
        return Text("No grants; `fll grant set user:NAME --role ROLE --namespace PATTERN` gives one.")
    rows = [
        [subject["subject"], grant["role"], grant["namespace"]]
        for subject in subjects
        for grant in subject["grants"]
    ]
    return TextTable(("subject", "role", "namespaces"), rows)


def _grants(grants: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{grant['role']} on {grant['namespace']}" for grant in grants)


def _time(at_ms: int | None) -> str:
    return "" if at_ms is None else format_time(at_ms)
