"""Runner of the golden cases of OpenLineage events.

A case has `events`, and `rules` where names are mapped; all events tell of one run or of none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from fll_hbase import rest_json
from fll_hbase.errors import UnreadableDocument
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.sources import name_rules, openlineage


def reported_by(case: dict[str, Any]) -> dict[str, Any]:
    """Return the merged events as JSON, or their errors."""
    rules = name_rules.parse_rules(case.get("rules", ""))
    try:
        readings = [openlineage.read(event, rules=rules) for event in case["events"]]
    except UnreadableDocument as error:
        return {"faults": rest_json.field_errors(error.errors)}
    schemas = dict.fromkeys(schema for reading in readings for schema in reading.schemas)
    body: dict[str, Any] = {"schemas": [_schema(schema) for schema in schemas]}
    warnings = [warning for reading in readings for warning in reading.warnings]
    if warnings:
        body["warnings"] = rest_json.field_errors(warnings)
    reported_of = [reading.event for reading in readings if reading.event is not None]
    body |= _run(reported_of) if reported_of else {}
    statements = [statement for reading in readings for statement in reading.statements]
    return body | {"statements": _run(statements)} if statements else body


def _run(reported_of: Sequence[IncomingEvent]) -> dict[str, Any]:
    (run,) = {item.run for item in reported_of}
    texts = {digest: text for item in reported_of for digest, text in item.bodies.items()}
    ordered = run_events.sort_events(item.event for item in reported_of)
    part = run_events.merge_lineage(
        [run_events.decode_lineage(texts[event.lineage_digest]) for event in ordered]
    )
    facts = [run_events.decode_run_facts(texts[event.facts_digest]) for event in ordered]
    owner = run_events.program_run(run, ordered, part, facts)
    dry = rest_json.dry_run(lineage.build_lineage_lenient(event_operations.build_operations(part)))
    assert not dry["warnings"]
    return {
        "run": owner.run,
        "namespace": owner.namespace,
        "application": owner.application,
        "program": owner.program,
        "type": owner.type,
        "startTime": owner.start_ms,
        "state": owner.state.value,
        "details": json.loads(owner.details) if owner.details else {},
        "sql": part.sql,
        "facts": list(_facts(facts)),
        **{name: dry[name] for name in ("checksum", "operations", "lineage")},
    }


def _facts(payload: Iterable[run_events.EventRunFacts]) -> Iterable[dict[str, Any]]:
    """Return the facts of each event without empty members."""
    for facts in payload:
        members = {name: getattr(facts, name) for name in facts.__struct_fields__}
        members["names"] = members.pop("physical_names")
        yield {name: value for name, value in members.items() if value}


def _schema(schema: DatasetMetadata) -> dict[str, Any]:
    return {
        "endPoint": str(schema.dataset),
        "fields": {field.name: field.type for field in schema.fields},
        "description": schema.description,
        "aliases": [str(alias) for alias in schema.aliases],
    }
