"""The flow report as a document: whether a policy is kept, and the way of each violation."""

from __future__ import annotations

from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.policies import rule, subject
from fll_hbase.queries.reports.report_document import (
    Document,
    Section,
    Stamp,
    field_text,
    path_text,
    program_text,
    warnings,
    window_facts,
)
from fll_hbase.runtime.json_types import Json

LEGEND = {
    "copied": "some run passes the value on unchanged",
    "masked": "every run hashes, encrypts or masks the value, by the descriptions of its operations",
    "computed": "operations make another value of it, from which it may be readable",
    "influence": "the field decides rows, groups or order, and its value is not passed on",
    "Still so": "whether the last run of the program in the period wrote the field in this way",
}
_WAY = "Way"


def flows_document(body: Json, window: Window, stamp: Stamp) -> Document:
    """Return a flow report as a document."""
    policy = body["policy"]
    facts = {"Policy": policy["name"], "Applies to": subject(policy), "Rule": rule(policy)}
    if "description" in policy:
        facts["Description"] = policy["description"]
    return Document(
        title=f"Flows by policy {policy['name']}",
        question=f"Does data of {subject(policy)} go where it must not: {rule(policy)}?",
        facts=facts | window_facts(window, stamp),
        stamp=stamp,
        verdict=[body["verdict"]],
        warnings=[*warnings(body, stamp)],
        sections=[_violations(body), _programs(body, stamp)],
        legend=LEGEND,
    )


def _violations(body: Json) -> Section:
    """Return the violations with the way of each."""
    rows = [
        [
            field_text(item),
            field_text(item["source"]),
            path_text(item["path"]),
            " → ".join(step.get("kind", "unknown") for step in item["path"][1:]),
            "; ".join(step["operation"] for step in item["path"][1:] if "operation" in step),
        ]
        for item in body["violations"]
    ]
    columns = ("Forbidden field", "Field with the tag", "By way of", _WAY, "What it does")
    brief = ("Forbidden field", "Field with the tag", _WAY)
    return Section(f"Violations: {len(rows):,}", columns, rows, brief=brief)


def _programs(body: Json, stamp: Stamp) -> Section:
    """Return the programs whose runs made the last hop of each violation."""
    rows = [
        [
            program_text(program),
            name_json.text(item),
            f"{program['runs']:,}",
            stamp.time(program["firstStart"]),
            stamp.time(program["lastStart"]),
            "yes" if program["current"] else "no",
            program["lastRun"],
        ]
        for item in body["violations"]
        for program in item["programs"]
    ]
    columns = (
        "Program",
        "Forbidden field",
        "Runs",
        "First run",
        "Last run",
        "Still so",
        "Id of the last run",
    )
    brief = ("Program", "Forbidden field", "Runs", "Last run", "Still so")
    return Section(f"Programs that wrote them: {len(rows):,}", columns, rows, brief=brief)
