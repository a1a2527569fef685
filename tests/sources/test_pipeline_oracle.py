"""Is a flattened pipeline's lineage that of its stages, walked with nothing but sets of source fields?"""

from __future__ import annotations

from hypothesis import given, settings

from fll_hbase import rest_json
from fll_hbase.sources import cdap

from .pipelines import Fields, Json, Told, known


def written(lineage: list[Json], sinks: list[str]) -> dict[str, Fields]:
    """Per sink and field what it is made of, as the answer has it."""
    found: dict[str, Fields] = {sink: {} for sink in sinks}
    for entry in lineage:
        for pair in entry["fieldmap"]:
            if entry["destination"] is not None:
                fields = found[entry["destination"]["name"]]
                made_of = {(entry["source"]["name"], pair["from"])} if entry["source"] else set()
                fields[pair["to"]] = fields.get(pair["to"], frozenset()) | made_of
    return found


def dropped(lineage: list[Json]) -> set[tuple[str, str]]:
    return {
        (entry["source"]["name"], pair["from"])
        for entry in lineage
        if entry["destination"] is None
        for pair in entry["fieldmap"]
    }


@settings(max_examples=200)
@given(known())
def test_flattened_means_what_the_stages_mean(case: tuple[Json, Told]) -> None:
    said, told = case
    reading = cdap.read_document(said, namespace="ns")
    lineage = rest_json.dry_run(reading.operations.info)["lineage"]
    assert written(lineage, [*told.written]) == told.written
    assert dropped(lineage) == told.dropped
