"""Lineage of flattened pipelines against an oracle that walks the stages with sets of source fields."""

from __future__ import annotations

from hypothesis import given

from fll_hbase.queries import acknowledgements
from fll_hbase.sources import cdap
from tests.support.pipelines import ExpectedLineage, Fields, Json, known_pipelines


def written(lineage: list[Json], sinks: list[str]) -> dict[str, Fields]:
    """Source fields by sink and field, as the REST answer lists them."""
    by_sink: dict[str, Fields] = {sink: {} for sink in sinks}
    for entry in lineage:
        for pair in entry["fieldmap"]:
            if entry["destination"] is not None:
                fields = by_sink[entry["destination"]["name"]]
                origins = {(entry["source"]["name"], pair["from"])} if entry["source"] else set()
                fields[pair["to"]] = fields.get(pair["to"], frozenset()) | origins
    return by_sink


def dropped(lineage: list[Json]) -> set[tuple[str, str]]:
    return {
        (entry["source"]["name"], pair["from"])
        for entry in lineage
        if entry["destination"] is None
        for pair in entry["fieldmap"]
    }


@given(known_pipelines())
def test_flattened_lineage_equals_that_of_the_stages(case: tuple[Json, ExpectedLineage]) -> None:
    document, expected = case
    reading = cdap.read_document(document, namespace="ns")
    lineage = acknowledgements.dry_run(reading.operations.info)["lineage"]
    assert written(lineage, [*expected.written]) == expected.written
    assert dropped(lineage) == expected.dropped
