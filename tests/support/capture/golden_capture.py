"""Golden cases of capture: dumps of jobs in many kinds of sources and targets, and the events of each job.

A case has `dumps` of the same jobs, by several releases of Spark; a line that only some releases give begins
with their names. An input has the subtype of OpenLineage before it, unless that is IDENTITY.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.support import golden_cases, golden_facts
from tests.support.capture.golden_dumps import Json, recorded, resolve, resolver
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation

NOTATION = Notation("file")


def lines(case: Case) -> list[str]:
    """Return the events of the dumps of a case."""
    dumps = case.members["dumps"].split(", ")
    return golden_cases.merge({dump: list(jobs(recorded(f"{dump}.ndjson"))) for dump in dumps})


def jobs(dumps: dict[str, list[bytes]]) -> Iterator[str]:
    """Yield each job and its events. One resolver has all lines: later jobs refer to earlier ones."""
    resolving = resolver()
    for job, dump in dumps.items():
        yield f"job {job}"
        for event in resolve(dump, by=resolving):
            yield from _event(event)


def _event(event: Json) -> Iterator[str]:
    """Yield an event without what is the same in all of them; columns only if it has no lineage."""
    (output,) = event["outputs"]
    name, facets = _name(output), output["facets"]
    change = facets.get("lifecycleStateChange", {})
    yield golden_facts.described(f"write {name}", change.get("lifecycleStateChange", ""))
    if "previousIdentifier" in change:
        yield f"renamed from {_name(change['previousIdentifier'])}"
    if event["eventType"] != "COMPLETE":
        yield f"state: {event['eventType']}"
    if "symlinks" in facets:
        yield f"table: {facets['symlinks']['identifiers'][0]['name']}"
    if event["inputs"]:
        yield f"reads: {', '.join(map(_name, event['inputs']))}"
    if "columnLineage" in facets:
        yield from _lineage(name, facets)
    elif "schema" in facets:
        yield f"columns: {golden_facts.fields(facets['schema']['fields'])}"


def _lineage(name: str, facets: Json) -> Iterator[str]:
    """Yield the inputs of columns and rows; a column without lineage is unknown."""
    lineage = facets["columnLineage"]
    for column, item in lineage["fields"].items():
        yield from _inputs(f"{name}.{golden_facts.word(column)}", item["inputFields"])
    # A renamed column is the only one of its event.
    is_renamed = facets.get("lifecycleStateChange", {}).get("lifecycleStateChange") == "ALTER"
    for item in () if is_renamed else facets["schema"]["fields"]:
        if item["name"] not in lineage["fields"]:
            yield f"{name}.{golden_facts.word(item['name'])} <- (unknown)"
    if lineage["dataset"]:
        yield from _inputs(f"{name}.*", lineage["dataset"])


def _name(dataset: Json) -> str:
    return NOTATION.dataset((dataset["namespace"], dataset["name"]))


def _inputs(target: str, inputs: Iterable[Json]) -> Iterator[str]:
    if not inputs:
        yield f"{target} <- {golden_facts.GENERATED}"
    for item in inputs:
        source = NOTATION.field((item["namespace"], item["name"]), item["field"])
        for kind in item["transformations"]:
            subtype = "" if kind["subtype"] == "IDENTITY" else f"{kind['subtype'].lower()} "
            yield golden_facts.described(f"{target} <- {subtype}{source}", kind["description"])
