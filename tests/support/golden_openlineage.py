"""Golden cases of OpenLineage events.

A case has sections `event`, and `rules` or `namespaces` where these are mapped; all events are about one run
or about none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.run_events import EventRunFacts, IncomingEvent
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import name_rules, openlineage
from tests.support import golden_facts
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation

NOTATION = Notation("db")


def lines(case: Case) -> Iterator[str]:
    """Yield what the merged events of a case mean."""
    rules = name_rules.parse_rules("".join(case.texts("rules")), "".join(case.texts("namespaces")))
    try:
        readings = [openlineage.read(json.loads(event), rules=rules) for event in case.texts("event")]
    except UnreadableDocument as error:
        yield from golden_facts.error(error)
        return
    reported_of = [reading.event for reading in readings if reading.event is not None]
    yield from run_lines(reported_of) if reported_of else ()
    statements = [statement for reading in readings for statement in reading.statements]
    if statements:
        yield "statements"
        yield from run_lines(statements)
    schemas = dict.fromkeys(schema for reading in readings for schema in reading.schemas)
    yield from golden_facts.datasets(schemas, NOTATION)
    yield from golden_facts.problems(
        "warning", [warning for reading in readings for warning in reading.warnings]
    )


def run_lines(reported_of: Sequence[IncomingEvent]) -> Iterator[str]:
    (run,) = {item.run for item in reported_of}
    texts = {digest: text for item in reported_of for digest, text in item.bodies.items()}
    ordered = run_events.sort_events(item.event for item in reported_of)
    part = run_events.merge_lineage(
        [run_events.decode_lineage(texts[event.lineage_digest]) for event in ordered]
    )
    facts = [run_events.decode_run_facts(texts[event.facts_digest]) for event in ordered]
    yield from golden_facts.run(run_events.program_run(run, ordered, part, facts))
    if part.sql:
        yield golden_facts.described("sql", part.sql)
    yield f"events: {len(facts)}"
    for number, event in enumerate(facts, 1):
        yield from _event(f"event {number}", event)
    dry = acknowledgements.dry_run(lineage.build_lineage_lenient(event_operations.build_operations(part)))
    yield from golden_facts.lineage(dry, NOTATION)


def _event(name: str, facts: EventRunFacts) -> Iterator[str]:
    for member, fact in msgspec.structs.asdict(facts).items():
        if fact:
            yield from golden_facts.members(f"{name} {member}", json.loads(msgspec.json.encode(fact)))
