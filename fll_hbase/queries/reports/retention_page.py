"""The retention report as tables, and as one HTML page to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fll_hbase.queries import name_json
from fll_hbase.queries.policies import subject
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.report_csv import Part
from fll_hbase.runtime.json_types import Json

_RUNS_COLUMNS = ("runs", "oldestStart", "newestStart", "newestRun")


def _expired_field(item: Json) -> Mapping[str, Any]:
    """Return the cells of an expired field of the report, with its path as one text."""
    return {**item, "path": " > ".join(map(name_json.text, item["path"]))}


FIELDS = Part(
    "Fields with data older than the policy allows",
    "fields",
    ("namespace", "name", "field", *_RUNS_COLUMNS, "path"),
    _expired_field,
)
PROGRAMS = Part(
    "Programs that wrote them",
    "programs",
    ("field", "namespace", "application", "program", "type", *_RUNS_COLUMNS),
)


def with_programs(body: Json) -> Json:
    """Return a report with the programs of all its fields as a member of their own."""
    programs = [
        program | {"field": name_json.text(item)} for item in body["fields"] for program in item["programs"]
    ]
    return body | {"programs": programs}


def to_html(report: Any, *, now_ms: int) -> str:
    """Return the report as a page, with the policy, the window and everything that cut it at the top."""
    body: Json = msgspec.to_builtins(report)
    policy, window = body["policy"], body["window"]
    listed = with_programs(body)
    others = {"Policy": policy["name"], "Greatest age": policy["maxAge"], "Applies to": subject(policy)}
    if "description" in policy:
        others["Description"] = policy["description"]
    times = {"start_ms": window["start"], "stop_ms": window["end"], "now_ms": now_ms}
    parts = [
        *html_report.facts(body, **times, others=others),
        *html_report.statements(body),
        *html_report.section(FIELDS, listed),
        *html_report.section(PROGRAMS, listed),
    ]
    return html_report.document(f"Retention by policy {policy['name']}", parts)
