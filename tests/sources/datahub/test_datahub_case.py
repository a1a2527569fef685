"""Fields that lineage spells in another case than the schema of their dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun
from fll_hbase.sources import datahub
from fll_hbase.sources.datahub import MessageFormat
from fll_hbase.sources.datahub.messages import LOOKED_UP_MAX
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

WINDOW = "start=2020-01-01&end=2100-01-01"


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield create_app(store).test_client()
    store.close()


def urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:mssql,{name},PROD)"


def proposal(name: str, aspect: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "entityType": "dataset",
        "entityUrn": urn(name),
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
    }


def schema(name: str, *fields: str) -> dict[str, Any]:
    return proposal(
        name, "schemaMetadata", {"fields": [{"fieldPath": field, "nativeDataType": "x"} for field in fields]}
    )


def copy(source: tuple[str, str], target: tuple[str, str]) -> dict[str, Any]:
    """Return the proposal that a field is that of another dataset."""
    ends = [f"urn:li:schemaField:({urn(name)},{field})" for name, field in (source, target)]
    entry = {
        "upstreamType": "FIELD_SET",
        "upstreams": [ends[0]],
        "downstreamType": "FIELD",
        "downstreams": [ends[1]],
    }
    value = {"upstreams": [{"dataset": urn(source[0]), "type": "COPY"}], "fineGrainedLineages": [entry]}
    return proposal(target[0], "upstreamLineage", value)


def send(client: FlaskClient, *proposals: dict[str, Any]) -> None:
    for item in proposals:
        answer = client.post("/aspects?action=ingestProposal", json={"proposal": item})
        assert answer.status_code == 200, answer.text


def pairs(client: FlaskClient, name: str) -> set[tuple[str, str]]:
    path = f"/v3/namespaces/mssql/endpoints/{name}/fields/lineage?direction=backward&level=5"
    answer = client.get(f"{path}&{WINDOW}")
    assert answer.status_code == 200, answer.text
    return {
        (f"{entry['source']['name']}.{pair['from']}", f"{entry['destination']['name']}.{pair['to']}")
        for entry in answer.json
        for pair in entry["fieldmap"]
    }


def test_two_hops_meet_in_the_field_of_the_schema(client: FlaskClient) -> None:
    send(
        client,
        schema("src", "Source"),
        schema("v", "Source"),
        copy(("src", "source"), ("v", "source")),
        copy(("v", "Source"), ("w", "S")),
    )
    assert pairs(client, "w") == {("v.Source", "w.S"), ("src.Source", "v.Source")}


def test_a_field_that_two_of_the_schema_may_be_stays(client: FlaskClient) -> None:
    send(client, schema("src", "ID", "Id"), copy(("src", "id"), ("v", "x")))
    assert pairs(client, "v") == {("src.id", "v.x")}


def test_a_field_of_the_schema_goes_before_another_case(client: FlaskClient) -> None:
    send(client, schema("src", "ID", "id"), copy(("src", "id"), ("v", "x")))
    assert pairs(client, "v") == {("src.id", "v.x")}


def test_a_schema_of_the_same_message_counts() -> None:
    message = [schema("src", "Source"), copy(("src", "SOURCE"), ("v", "x"))]
    read = datahub.read(message, form=MessageFormat.FILE, now_ms=10**12)
    (run,) = read.runs
    assert isinstance(run, RecordedRun)
    assert [field.name for field in run.info.field_map.fields] == ["Source"]


def test_datasets_are_looked_up_once_and_not_without_end() -> None:
    names = [f"s{number}" for number in range(LOOKED_UP_MAX + 10)]
    looked_up = []

    def columns(dataset: Dataset) -> list[str]:
        looked_up.append(dataset.name)
        return ["A"]

    message = [copy((name, "a"), ("v", "x")) for name in (*names, *names)]
    read = datahub.read(message, form=MessageFormat.FILE, now_ms=10**12, columns=columns)
    assert len(looked_up) == len({*looked_up}) == LOOKED_UP_MAX
    fields = {
        field.name for run in read.runs if isinstance(run, RecordedRun) for field in run.info.field_map.fields
    }
    assert fields == {"a", "A"}
