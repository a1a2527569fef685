"""Pipeline configs over HTTP: recorded as read, with every error and warning at its path."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.api_client import ALL, get_json, lineage, path, send
from tests.support.lineage_documents import Json, run

SCHEMA = {
    "type": "record",
    "name": "people",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["string", "null"]},
        {"name": "secret", "type": "string"},
    ],
}
PIPELINE: Json = {
    "run": run("p1"),
    "config": {
        "stages": [
            {
                "name": "File",
                "plugin": {
                    "type": "batchsource",
                    "properties": {"referenceName": "people", "schema": json.dumps(SCHEMA)},
                },
            },
            {
                "name": "Projection",
                "plugin": {"type": "transform"},
                "fieldMutations": [
                    {
                        "mutation": "rename",
                        "inputFields": [{"name": "name", "type": "string"}],
                        "outputField": {"name": "title", "type": "string"},
                    },
                    {"mutation": "delete", "inputFields": ["secret"]},
                ],
            },
            {"name": "Table", "plugin": {"type": "batchsink"}, "endPoint": {"namespace": "ns2", "name": "t"}},
        ],
        "connections": [{"from": "File", "to": "Projection"}, {"from": "Projection", "to": "Table"}],
    },
}


DOUBLE = ["config.stages.1.name", "config.connections.0.to", "config.connections.1.from"]


def record(client: FlaskClient, document: Any, **query: Any) -> TestResponse:
    return client.post(path("ns1", "pipelines", **query), json=document)


def changed(position: str, value: Any) -> Json:
    """The pipeline with one place in it changed; `...` takes it away."""
    document = copy.deepcopy(PIPELINE)
    *way, last = [int(step) if step.isdigit() else step for step in position.split(".")]
    holder: Any = document
    for step in way:
        holder = holder[step]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return document


def test_it_is_recorded_once(client: FlaskClient) -> None:
    first, again = record(client, PIPELINE), record(client, PIPELINE)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json == {"checksum": first.json["checksum"], "run": "p1", "recorded": True}
    assert again.json == {**first.json, "recorded": False}
    other = record(client, changed("config.stages.1.fieldMutations.1", {"mutation": "x", "outputField": "y"}))
    assert other.status_code == 200
    assert other.json["replaced"]


def test_it_is_answered(client: FlaskClient) -> None:
    assert record(client, PIPELINE).status_code == 201
    people, table = {"namespace": "ns1", "name": "people"}, {"namespace": "ns2", "name": "t"}
    assert lineage(client, "people", direction="forward") == [
        {
            "source": people,
            "destination": None,
            "fieldmap": [{"from": "secret", "to": None}],
            "level": 1,
            "direction": "forward",
        },
        {
            "source": people,
            "destination": table,
            "fieldmap": [{"from": "id", "to": "id"}, {"from": "name", "to": "title"}],
            "level": 1,
            "direction": "forward",
        },
    ]
    message = get_json(client, "ns2", "endpoints", "t", "fields", "title", "lineage", **ALL)
    assert [node["id"] for node in message["nodes"]] == ["File.read.name", "Projection.rename.title"]
    fields = get_json(client, "ns1", "endpoints", "people", "fields")["fields"]
    assert {item["name"]: item["type"] for item in fields} == {
        "id": "long",
        "name": "string?",
        "secret": "string",
    }


class TestDryRun:
    """Return the answer of a dry run."""

    def test_it_reports_the_operations(self, client: FlaskClient) -> None:
        answer = record(client, PIPELINE, dryRun="true")
        assert answer.status_code == 200
        assert [operation["name"] for operation in answer.json["operations"]] == [
            *("File.read", "Projection.delete", "Projection.rename", "Table.write")
        ]
        assert record(client, PIPELINE).json["checksum"] == answer.json["checksum"]

    def test_its_operations_record_the_same(self, client: FlaskClient) -> None:
        message = record(client, PIPELINE, dryRun="true").json
        document = {"run": PIPELINE["run"], "operations": message["operations"]}
        answer = client.post(path("ns1", "lineage"), json=document)
        assert (answer.status_code, answer.json["checksum"]) == (201, message["checksum"])

    def test_it_stores_nothing(self, client: FlaskClient) -> None:
        record(client, PIPELINE, dryRun="true")
        assert get_json(client, "ns1", "endpoints") == {"endpoints": []}

    def test_it_refuses_as_recording_does(self, client: FlaskClient) -> None:
        for wrong in ({}, changed("config.connections.0.to", "gone")):
            refused, dry = record(client, wrong), record(client, wrong, dryRun="true")
            assert refused.json == dry.json
            assert refused.status_code >= 400


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        ("config", ..., "config"),
        ("config", [], "config"),
        ("config.stages", ..., "config.stages"),
        ("config.stages", {}, "config.stages"),
        ("config.stages.1", "x", "config.stages.1"),
        ("config.stages.1.name", ..., "config.stages.1.name"),
        ("config.stages.1.name", "", "config.stages.1.name"),
        ("config.stages.0.plugin.type", 1, "config.stages.0.plugin.type"),
        ("run", ..., "run"),
        ("run.program", 5, "run.program"),
    ],
)
def test_wrong_shapes_are_400_each_at_its_place(
    client: FlaskClient, position: str, value: Any, message: str
) -> None:
    answer = record(client, changed(position, value))
    assert answer.status_code == 400
    assert [error["at"] for error in answer.json["errors"]] == [message]


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        ("arguments", [], "arguments"),
        ("config.stages.1.plugin", [], "config.stages.1.plugin"),
        ("config.stages.0.plugin.properties", "x", "config.stages.0.plugin.properties"),
        ("config.stages.0.plugin.properties.schema", 1, "config.stages.0.plugin.properties.schema"),
        ("config.stages.1.outputSchema", 1, "config.stages.1.outputSchema"),
        ("config.stages.1.operations", "x", "config.stages.1.operations"),
        ("config.stages.1.operations", [{"name": "a", "type": "DROP"}], "config.stages.1.operations.0.type"),
        ("config.stages.1.operations", [{"inputs": []}], "config.stages.1.operations.0.name"),
        (
            "config.stages.1.operations",
            [{"name": "a", "inputs": [1]}],
            "config.stages.1.operations.0.inputs.0",
        ),
        ("config.stages.1.fieldMutations.0.mutation", ..., "config.stages.1.fieldMutations.0.mutation"),
        ("config.stages.1.fieldMutations.0.outputField", ..., "config.stages.1.fieldMutations.0"),
        ("config.stages.1.fieldMutations.1.inputFields", ..., "config.stages.1.fieldMutations.1"),
        ("config.stages.2.endPoint", 7, "config.stages.2.endPoint"),
        ("config.stages.2.endPoint.name", "", "config.stages.2.endPoint.name"),
        ("config.connections", "x", "config.connections"),
        ("config.connections.0.from", ..., "config.connections.0.from"),
    ],
)
def test_a_broken_part_of_a_stage_is_left_out_and_named(
    client: FlaskClient, position: str, value: Any, message: str
) -> None:
    answer = record(client, changed(position, value))
    assert answer.status_code == 201
    assert message in [warning["at"] for warning in answer.json["warnings"]]


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        ("config.stages.1.name", "File", DOUBLE),
        ("config.connections.0.to", "gone", ["config.connections.0.to"]),
        ("config.connections.1", {"from": "Projection", "to": "File"}, ["config.stages.0"]),
        ("config.connections.1", {"from": "Table", "to": "Table"}, ["config.stages.2"]),
        ("config.stages.0.plugin.type", "transform", ["config.stages"]),
        ("config.stages.0.plugin", [], ["config.stages", "config.stages.0.plugin"]),
        ("config.stages.2.plugin.type", "transform", ["config.stages"]),
        ("config.stages.1.operations", [{"name": "a"}] * 2, ["config.stages.1.operations.1.name"]),
    ],
)
def test_what_is_no_pipeline_is_422(
    client: FlaskClient, position: str, value: Any, message: list[str]
) -> None:
    answer = record(client, changed(position, value))
    assert answer.status_code == 422
    assert [error["at"] for error in answer.json["errors"]] == message
    assert get_json(client, "ns1", "endpoints") == {"endpoints": []}


def test_every_fault_is_reported_at_once(client: FlaskClient) -> None:
    stages = [{"name": "a"}, {"name": "a"}]
    config = {"stages": stages, "connections": [{"from": "a", "to": "b"}, {"from": "a", "to": "a"}]}
    answer = record(client, {"run": run(), "config": config})
    assert answer.status_code == 422
    assert [error["at"] for error in answer.json["errors"]] == [
        *(
            "config.stages.1.name",
            "config.connections.0.to",
            "config.stages.0",
            "config.stages",
            "config.stages",
        )
    ]


def test_what_does_not_fit_is_a_warning(client: FlaskClient) -> None:
    odd = changed("config.stages.1.operations", [{"name": "upper", "inputs": ["nmae"], "outputs": ["name"]}])
    answer = record(client, {**odd, "colour": "red"})
    assert answer.status_code == 201
    assert [warning["at"] for warning in answer.json["warnings"]] == [
        "colour",
        "config.stages.1.operations.0",
    ]


def test_arguments_resolve_macros(client: FlaskClient) -> None:
    by_macro = changed("config.stages.0.plugin.properties.schema", "${schema}")
    unknown = record(client, by_macro, dryRun="true").json
    assert unknown["warnings"][0]["at"] == "config.stages.0.plugin.properties.schema"
    message = record(client, {**by_macro, "arguments": {"schema": json.dumps(SCHEMA)}}).json
    assert "warnings" not in message
    assert message["checksum"] == record(client, PIPELINE, dryRun="true").json["checksum"]


def test_lines_of_a_batch_are_no_pipelines(client: FlaskClient) -> None:
    """A batch has one form; `fll record` sends each document to the route of its own."""
    answer = send(client, json.dumps(PIPELINE).encode() + b"\n", "lineage/batch")
    assert json.loads(answer.data)["status"] == 400


def test_the_document_says_what_is_taken(client: FlaskClient) -> None:
    payload = client.get("/openapi.json").json
    operation = payload["paths"]["/v3/namespaces/{namespace}/pipelines"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": payload["components"]})
    validator.validate(PIPELINE)
    validator.validate({**PIPELINE, "arguments": {"a": ""}})
    assert not validator.is_valid({"run": run()})
    assert not validator.is_valid(changed("config.stages.1.name", ""))
    assert not validator.is_valid(changed("config.connections.0.from", ...))
