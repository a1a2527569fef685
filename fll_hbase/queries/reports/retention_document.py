"""The retention report as a document: whether a policy is kept, and which fields violate it."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.policies import subject
from fll_hbase.queries.reports.report_document import (
    TAGS,
    Document,
    Section,
    Stamp,
    field_text,
    filled,
    path_text,
    program_text,
    subject_facts,
    tags_cell,
    tags_legend,
    warnings,
    window_facts,
)
from fll_hbase.runtime.json_types import Json

LEGEND = {
    "Older than the policy allows": "a run that started before the cut-off wrote the field",
    "No older run is known": "no recorded run before the cut-off wrote the field",
    "What lineage cannot know": "whether data was deleted later, and writes of runs that"
    " failed or were not recorded",
}
_SPAN = ("Runs", "Oldest run", "Newest run")


def retention_document(body: Json, stamp: Stamp) -> Document:
    """Return a retention report as a document."""
    policy, window = body["policy"], body["window"]
    others = {
        "Policy": policy["name"],
        "Applies to": subject(policy),
        "Greatest age": policy["maxAge"],
    }
    if "description" in policy:
        others["Description"] = policy["description"]
    if "recordedFrom" in body:
        others["Recorded since"] = f"{stamp.time(body['recordedFrom'])} {stamp.zone}"
    ends = window_facts(Window(window["start"], window["end"]), stamp)
    if window["start"] == window["end"]:
        # The window that was asked for begins later, so that none of it is left.
        ends = {"Cut-off": f"{stamp.time(window['end'])} {stamp.zone}, before the window begins"}
    facts = others | subject_facts(body.get("field", {})) | ends
    sections = [_fields(body, stamp), _programs(body, stamp), _complying(body)]
    return Document(
        title=f"Retention by policy {policy['name']}",
        question=f"Is data of {subject(policy)}, or made of it, older than {policy['maxAge']}?",
        facts=facts,
        stamp=stamp,
        verdict=[body["verdict"]],
        warnings=[*warnings(body, stamp)],
        sections=sections,
        legend=LEGEND | tags_legend(facts, sections),
    )


def _fields(body: Json, stamp: Stamp) -> Section:
    """Return the fields with data older than the policy allows."""
    rows = [
        [field_text(item), tags_cell(item), *_origin(item["path"]), *_span(item, stamp)]
        for item in body["fields"]
    ]
    title = f"Fields with data older than the policy allows: {len(rows):,}"
    columns = ("Field", TAGS, "Made of", "By way of", *_SPAN)
    return filled(Section(title, columns, rows, brief=("Field", TAGS, *_SPAN)))


def _origin(path: Sequence[Json]) -> list[str]:
    """Return the field of the policy that a path begins with, and the fields between its ends."""
    return ["the policy's own field", ""] if len(path) == 1 else [field_text(path[0]), path_text(path)]


def _programs(body: Json, stamp: Stamp) -> Section:
    """Return the programs that wrote fields with data older than the policy allows."""
    rows = [
        [program_text(program), name_json.text(item), *_span(program, stamp), program["newestRun"]]
        for item in body["fields"]
        for program in item["programs"]
    ]
    return Section(
        f"Programs that wrote them: {len(rows):,}", ("Program", "Field", *_SPAN, "Id of the newest run"), rows
    )


def _complying(body: Json) -> Section:
    """Return the fields of the policy without older runs."""
    rows = [[field_text(item), tags_cell(item)] for item in body["complying"]]
    return filled(Section(f"Fields without a known older run: {len(rows):,}", ("Field", TAGS), rows))


def _span(item: Json, stamp: Stamp) -> list[str]:
    """Return the number of runs, and the starts of the oldest and the newest run."""
    return [f"{item['runs']:,}", stamp.time(item["oldestStart"]), stamp.time(item["newestStart"])]
