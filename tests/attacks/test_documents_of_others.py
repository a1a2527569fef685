"""A recorder changes neither the catalogue nor the tags of others by what its documents state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.access import Role
from tests.support.granted_server import ADMIN, GrantedServer, granted_server

Json = dict[str, Any]

SHOP = ((Role.RECORDER, "shop"), (Role.READER, "*"))
STEWARD = (*SHOP, (Role.STEWARD, "shop"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantedServer]:
    with granted_server(Path(tmp_path_factory.mktemp("documents"))) as started:
        yield started


def facet(**members: Any) -> Json:
    return {"_producer": "https://example.org", "_schemaURL": "https://example.org/1-0-0/F.json", **members}


def tagged_event(dataset: str) -> Json:
    """A dataset event of OpenLineage that gives a field a tag."""
    return {
        "eventTime": "2023-11-14T22:13:20Z",
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": {
            "namespace": "shop",
            "name": dataset,
            "facets": {
                "schema": facet(fields=[{"name": "f", "type": "int"}]),
                "tags": facet(tags=[{"key": "PII", "value": "true", "field": "f", "source": "me"}]),
            },
        },
    }


def tagged_proposal(dataset: str) -> Json:
    """A schema of DataHub whose field has a tag."""
    schema = {
        "schemaName": dataset,
        "platform": "urn:li:dataPlatform:shop",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [
            {
                "fieldPath": "f",
                "nativeDataType": "int",
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]},
            }
        ],
    }
    return {
        "proposal": {
            "entityType": "dataset",
            "entityUrn": f"urn:li:dataset:(urn:li:dataPlatform:shop,{dataset},PROD)",
            "changeType": "UPSERT",
            "aspectName": "schemaMetadata",
            "aspect": {"contentType": "application/json", "value": json.dumps(schema)},
        }
    }


def reading_document(bank: str, run: str, field: str) -> Json:
    """A run that reads a field of a table of the bank."""
    source = {"namespace": bank, "name": f"t{run}", "description": "worthless"}
    return {
        "run": {"application": "a", "type": "t", "program": "p", "run": run, "startTime": 1_700_000_000_000},
        "operations": [
            {"type": "READ", "name": "read", "source": source, "outputs": [{"name": field}]},
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"namespace": "shop", "name": f"b{run}"},
                "inputs": [{"origin": "read", "name": field}],
            },
        ],
    }


def reading_event(bank: str, run: str, field: str) -> Json:
    """The same as an event of OpenLineage, with a schema of the source."""
    inputs = {"inputFields": [{"namespace": bank, "name": f"t{run}", "field": field}]}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2023-11-14T22:13:20Z",
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run},
        "job": {"namespace": "shop", "name": "p"},
        "inputs": [
            {
                "namespace": bank,
                "name": f"t{run}",
                "facets": {"schema": facet(fields=[{"name": field}, {"name": f"{field}more"}])},
            }
        ],
        "outputs": [
            {
                "namespace": "shop",
                "name": f"b{run}",
                "facets": {"columnLineage": facet(fields={field: inputs})},
            }
        ],
    }


@pytest.mark.parametrize(
    ("run", "path", "read_field"),
    [
        ("r1", "/v3/namespaces/shop/lineage", reading_document),
        ("00000000-0000-4000-8000-000000000001", "/api/v1/lineage", reading_event),
    ],
)
def test_reading_from_others_adds_nothing_to_their_catalogue(
    server: GrantedServer, run: str, path: str, read_field: Callable[[str, str, str], Json]
) -> None:
    name = f"bank{run}"
    body = read_field(name, run, "zzfield")
    recorder, admin = server.token(*SHOP), server.token(*ADMIN)
    bank = server.token((Role.STEWARD, "bank*"), (Role.RECORDER, "bank*"), (Role.RECORDER, "shop"))
    table = f"/v3/namespaces/{name}/endpoints/t{run}"
    assert server.send(recorder, "POST", path, body).status == 201
    for token in (recorder, admin, bank):
        assert name not in server.get(token, "/v3/namespaces").json["namespaces"]
        assert server.get(token, f"/v3/namespaces/{name}/endpoints").json["endpoints"] == []
        assert [server.get(token, table + rest).status for rest in ("", "/fields", "/tags")] == [404] * 3
        hits = server.get(token, "/v3/search?q=zzfield").json["results"]
        assert not any(hit["namespace"] == name for hit in hits)
    tag = f"{table}/fields/zzfield/tags/PII"
    assert server.send(bank, "PUT", tag, {}).status == 404
    # The lineage of the run shows what it reads, from both sides.
    [entry] = server.get(recorder, f"/v3/namespaces/shop/endpoints/b{run}/fields/lineage?start=0").json
    assert (entry["source"]["name"], entry["fieldmap"]) == (
        f"t{run}",
        [{"from": "zzfield", "to": "zzfield"}],
    )
    assert server.get(bank, f"{table}/fields/lineage?start=0").json[0]["destination"] is not None
    # Once somebody with the right says the same, the names are there.
    assert server.send(bank, "POST", path, body).status in (200, 201)
    assert "zzfield" in {field["name"] for field in server.get(bank, f"{table}/fields").json["fields"]}
    assert server.send(bank, "PUT", tag, {}).status == 201
    assert server.send(admin, "DELETE", tag).status == 204


@pytest.mark.parametrize(("grants", "tags"), [(SHOP, 0), (STEWARD, 1)])
def test_tags_of_documents_need_a_steward(
    server: GrantedServer, grants: tuple[tuple[Role, str], ...], tags: int
) -> None:
    token, admin = server.token(*grants), server.token(*ADMIN)
    event = server.send(token, "POST", "/api/v1/lineage", tagged_event(f"event{tags}"))
    batch = server.send(token, "POST", "/api/v1/lineage/batch", [tagged_event(f"batch{tags}")])
    proposal = server.send(
        token, "POST", "/aspects?action=ingestProposal", tagged_proposal(f"proposal{tags}")
    )
    assert (event.status, batch.status, proposal.status) == (201, 200, 200)
    listed = [
        event.json.get("warnings", []),
        [warning for item in batch.json.get("warned_events", []) for warning in item["warnings"]],
        proposal.json.get("warnings", []),
    ]
    for name, warnings in zip(("event", "batch", "proposal"), listed, strict=True):
        path = f"/v3/namespaces/shop/endpoints/{name}{tags}"
        assert [field["name"] for field in server.get(admin, f"{path}/fields").json["fields"]] == ["f"]
        assert len(server.get(admin, f"{path}/tags").json["tags"]) == tags
        needed = f"the tags of shop/{name}{tags} are not recorded: this needs the role `steward`"
        assert [item["detail"].startswith(needed) for item in warnings] == [True] * (1 - tags), warnings
