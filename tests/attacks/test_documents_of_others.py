"""What a recorder does to the catalogue and the tags of others by what its documents say."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    said = [
        event.json.get("warnings", []),
        [warning for item in batch.json.get("warned_events", []) for warning in item["warnings"]],
        proposal.json.get("warnings", []),
    ]
    for name, warnings in zip(("event", "batch", "proposal"), said, strict=True):
        path = f"/v3/namespaces/shop/endpoints/{name}{tags}"
        assert [field["name"] for field in server.get(admin, f"{path}/fields").json["fields"]] == ["f"]
        assert len(server.get(admin, f"{path}/tags").json["tags"]) == tags
        needed = f"the tags of shop/{name}{tags} are not recorded: this needs the role `steward`"
        assert [item["detail"].startswith(needed) for item in warnings] == [True] * (1 - tags), warnings
