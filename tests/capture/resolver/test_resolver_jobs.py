"""Recorded dumps of jobs with many kinds of sources and targets: golden_capture has all of their events."""

from __future__ import annotations

import json

import pytest

from tests.support.capture.golden_dumps import FOLDER, Json, recorded, resolve, resolver, short

VERSIONS = ("3.5", "4.3")


def events_of(recording: str) -> dict[str, list[Json]]:
    """The events of each job in short. One resolver has all lines: later jobs refer to earlier ones."""
    resolving = resolver()
    return {
        job: [short(event) for event in resolve(lines, by=resolving)]
        for job, lines in recorded(f"{recording}.ndjson").items()
    }


@pytest.mark.parametrize(
    ("jobs", "different"), [("jobs", {"_failing"}), ("hive", {"_hive_functions", "_hive_partitions"})]
)
def test_releases_of_spark_agree(jobs: str, different: set[str]) -> None:
    """But for texts of expressions, and Delta, which 3.5 alone has here."""
    old, new = (events_of(f"{jobs}-{version}") for version in VERSIONS)
    assert {job for job in new if old[job] != new[job]} == different


@pytest.mark.parametrize("version", VERSIONS)
def test_neither_credentials_nor_constants_are_written(version: str) -> None:
    """The jobs have a password in a URL and in options, and constants in queries, views and failures."""
    text = (FOLDER / f"jobs-{version}.ndjson").read_text(encoding="utf-8")
    assert "STOCK" in text
    for secret in ("sesame", "joe", "4711", "secret"):
        assert secret not in text


def test_iceberg_is_the_same_in_both_modes() -> None:
    """But for the text of UPDATE."""
    jobs = events_of("iceberg-4.1")
    on_write, on_read = (json.dumps(jobs[job]) for job in ("_on_write", "_on_read"))
    copied, merged = (json.loads(text.replace("/db/copied", "/db/merged")) for text in (on_write, on_read))
    assert [_sources(event) for event in copied] == [_sources(event) for event in merged]


def _sources(event: Json) -> dict[str, set[str]]:
    """The datasets and fields that each column depends on, and how."""
    return {
        name: {" ".join(item.split(" ")[:3]) for item in inputs}
        for name, inputs in event.get("fields", {}).items()
    }


def test_a_renamed_column_leads_to_its_former_name() -> None:
    (event,) = [event for event in events_of("iceberg-4.1")["_iceberg_columns"] if "fields" in event]
    assert event["fields"] == {"vv": ["/data/ice/db/copied v IDENTITY"]}
    assert (event["inputs"], event["change"]) == ([event["output"]], "ALTER")


def test_topics_that_are_not_known_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    lines = recorded("kafka-4.3.ndjson")
    assert resolve([*lines["_unknown_topic"], *lines["_unknown_topic"]]) == []
    (record,) = caplog.records
    assert "rows that go to kafka:9092" in record.message


def test_the_same_write_has_the_same_run_id() -> None:
    lines = [line for job in recorded("jobs-4.3.ndjson").values() for line in job]
    first, second = (resolve(lines) for _ in range(2))
    assert first == second
    ids = [event["run"]["runId"] for event in first]
    assert len(set(ids)) == len(ids)


def test_executions_without_the_end_of_their_root_are_resolved_at_the_end() -> None:
    lines = recorded("jobs-4.3.ndjson")["_create_as_select"]
    resolving = resolver()
    assert resolve(lines[:1], by=resolving) == []
    (event,) = resolving.finish()
    assert short(event)["output"] == "file /data/warehouse/t2"
    assert resolving.finish() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_schemas_have_all_columns_with_their_types(version: str) -> None:
    events = resolve(line for lines in recorded(f"jobs-{version}.ndjson").values() for line in lines)
    by_output: dict[str, Json] = {}
    for event in events:
        by_output.setdefault(event["outputs"][0]["name"], event)
    source = {"id": "long", "v": "long", "s": "string", "items": "array<struct<q:long>>"}
    assert types_of(by_output["/data/src"]["outputs"][0]) == source
    table = by_output["/data/warehouse/t1"]
    # The job reads two columns, and the source has all four.
    assert types_of(table["inputs"][0]) == source
    assert types_of(table["outputs"][0]) == {"id": "long", "v": "long"}


def types_of(dataset: Json) -> dict[str, str]:
    return {item["name"]: item.get("type", "") for item in dataset["facets"]["schema"]["fields"]}
