"""The routes of DataHub's clients: what is answered, refused, counted, and only looked at."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.sources.datahub import AspectOutcome
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.datahub_messages import DAILY, ORDERS, dataset, entity, lineage, proposal, snapshot

ASPECTS = "/aspects?action=ingestProposal"
BATCH = "/aspects?action=ingestProposalBatch"
DATASETS = "/openapi/v3/entity/dataset"


@pytest.fixture
def client() -> FlaskClient:
    """A client of an app over an empty store that takes documents of 10 kB."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    return create_app(store, Settings(document_bytes_max=10_000)).test_client()


def posted(client: FlaskClient, target: str, body: Any, *, method: str = "POST") -> Any:
    """Return the body of a successful answer."""
    answer = client.open(target, method=method, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json


class TestAnswers:
    """Answers that DataHub's clients expect, with the outcome of each proposal."""

    def test_config(self, client: FlaskClient) -> None:
        payload = client.get("/config").json
        assert (payload["noCode"], payload["patchCapable"]) == ("true", True)
        assert payload["versions"]["acryldata/datahub"]["version"] == "v1.0.1"

    def test_a_proposal(self, client: FlaskClient) -> None:
        answer = posted(client, ASPECTS, {"proposal": proposal(lineage())})
        (message,) = answer["entities"]
        (run,) = message["runs"]
        assert answer["value"] == message["urn"] == DAILY
        assert message["aspects"] == [{"aspect": "upstreamLineage", "outcome": "recorded", "count": 1}]
        assert run["recorded"] is True
        (again,) = posted(client, ASPECTS, {"proposal": proposal(lineage())})["entities"]
        assert again["runs"] == [{**run, "recorded": False}]

    def test_a_batch(self, client: FlaskClient) -> None:
        proposals = [proposal({}, "status"), proposal(lineage()), proposal(lineage(), urn=ORDERS)]
        answer = posted(client, BATCH, {"proposals": proposals, "async": "true"})
        assert [entity["urn"] for entity in answer["entities"]] == [DAILY, ORDERS]
        assert [len(entity["runs"]) for entity in answer["entities"]] == [1, 1]
        assert {"aspect": "status", "outcome": "counted", "count": 1} in answer["entities"][0]["aspects"]

    def test_an_empty_batch(self, client: FlaskClient) -> None:
        assert posted(client, BATCH, {"proposals": []})["entities"] == []
        assert posted(client, DATASETS, []) == []

    def test_entities(self, client: FlaskClient) -> None:
        (message,) = posted(client, f"{DATASETS}?async=false&createIfNotExists=true", [entity(lineage())])
        assert (message["urn"], len(message["runs"])) == (DAILY, 1)

    def test_a_file_of_a_query_parser(self, client: FlaskClient) -> None:
        column = {"fqcnDatabaseName": "ods", "fqcnTableName": "fvs", "fqcnColumnName": "cpc"}
        pair = [{"Right": {**column, "fqcnTableName": "t"}}, {"columns": [column], "tables": []}]
        (message,) = posted(client, "/aspects?action=ingestFile", pair)["entities"]
        assert (message["urn"], len(message["runs"])) == (dataset("ods.t"), 1)

    def test_snapshots(self, client: FlaskClient) -> None:
        wrapped = {"value": snapshot(lineage())}
        first = posted(client, "/entities?action=ingest", {"entity": wrapped})
        many = posted(client, "/entities?action=batchIngest", {"entities": [wrapped, wrapped]})
        assert [len(answer["entities"][0]["runs"]) for answer in (first, many)] == [1, 1]

    @pytest.mark.parametrize("urn", [DAILY, dataset("bucket/a/b,c", "s3"), "urn:li:chart:(looker,a)"])
    def test_deletions(self, client: FlaskClient, urn: str) -> None:
        message = [{"urn": urn, "aspects": [{"aspect": "", "outcome": "removed", "count": 1}], "runs": []}]
        answer = posted(client, "/entities?action=delete", {"urn": urn})
        assert answer["value"]["rows"] == 0
        assert answer["entities"] == message
        for path in (urn, quote(urn, safe="")):
            assert posted(client, f"{DATASETS}/{path}", None, method="DELETE")["entities"] == message

    def test_half_of_a_surrogate_pair_costs_a_deletion_its_member_alone(self, client: FlaskClient) -> None:
        def deleted(urn: str) -> Any:
            text = json.dumps({"urn": urn, "aspectName": "\ud83d", "\ud83d": 1})
            return client.post("/entities?action=delete", data=text, content_type="application/json")

        assert deleted(DAILY).json["entities"][0]["urn"] == DAILY
        refused = deleted(f"{DAILY}\ud83d")
        assert (refused.status_code, refused.json["errors"][0]["at"]) == (400, "urn")

    def test_nothing_is_stored_by_a_dry_run(self, client: FlaskClient) -> None:
        for target, body in (
            (ASPECTS, {"proposal": proposal(lineage())}),
            (BATCH, {"proposals": [proposal(lineage())]}),
            (f"{DATASETS}?", [entity(lineage())]),
            ("/entities?action=ingest", {"entity": {"value": snapshot(lineage())}}),
        ):
            message = posted(client, f"{target}&dryRun=true", body)
            assert message["runs"][0]["lineage"] == message["lineage"]
            assert len(message["lineage"]) == 2
        posted(client, "/entities?action=delete&dryRun=true", {"urn": DAILY})
        assert client.get("/v3/namespaces").json == {"namespaces": []}
        assert not client.application.extensions["fll-datahub-counts"].totals()

    def test_a_dry_run_refuses_what_recording_refuses(self, client: FlaskClient) -> None:
        proposals = [proposal(lineage()), proposal(lineage(), urn="urn:li:dataset:(broken")]
        looked_at = client.post(f"{BATCH}&dryRun=true", json={"proposals": proposals})
        assert client.get("/v3/namespaces").json == {"namespaces": []}
        recorded = client.post(BATCH, json={"proposals": proposals})
        assert (looked_at.status_code, recorded.status_code) == (400, 400)
        assert looked_at.json["errors"] == recorded.json["errors"][: len(looked_at.json["errors"])] != []

    def test_what_comes_is_counted_and_logged(
        self, client: FlaskClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO):
            posted(client, DATASETS, [entity(lineage()), entity({}, "ownership"), entity({}, "ownership")])
        assert client.application.extensions["fll-datahub-counts"].totals() == {
            ("upstreamLineage", AspectOutcome.RECORDED): 1,
            ("ownership", AspectOutcome.COUNTED): 2,
        }
        assert f"{DAILY}: ownership counted 2" in caplog.text


class TestAspects:
    """Aspects from the catalogue, for clients that read before they write."""

    def requested(self, client: FlaskClient, urn: str, aspect: str) -> Any:
        return client.get(f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version=0")

    def test_a_key_and_a_schema(self, client: FlaskClient) -> None:
        fields = [{"fieldPath": "a.b", "nativeDataType": "int"}, {"fieldPath": "c", "nativeDataType": "text"}]
        urn = dataset("bucket/a", "s3", "DEV")
        posted(client, DATASETS, [entity({"fields": fields}, "schemaMetadata", urn=urn)])
        key = self.requested(client, urn, "datasetKey").json["aspect"]["com.linkedin.metadata.key.DatasetKey"]
        assert key == {"platform": "urn:li:dataPlatform:s3", "name": "bucket/a", "origin": "DEV"}
        schema = self.requested(client, urn, "schemaMetadata").json["aspect"][
            "com.linkedin.schema.SchemaMetadata"
        ]
        assert [(field["fieldPath"], field["nativeDataType"]) for field in schema["fields"]] == [
            ("a.b", "int"),
            ("c", "text"),
        ]

    @pytest.mark.parametrize(
        ("urn", "aspect"),
        [(ORDERS, "datasetKey"), (DAILY, "ownership"), (DAILY, "schemaMetadata"), ("x", "datasetKey")],
    )
    def test_what_nobody_knows(self, client: FlaskClient, urn: str, aspect: str) -> None:
        posted(client, DATASETS, [entity({}, "datasetKey")])
        assert self.requested(client, DAILY, "datasetKey").status_code == 200
        assert self.requested(client, urn, aspect).status_code == 404


class TestRefusals:
    """Problems, with the one member that DataHub's clients tell."""

    @pytest.mark.parametrize(
        ("target", "body", "status"),
        [
            (ASPECTS, "{", 400),
            (ASPECTS, "{}", 400),
            (f"{ASPECTS}&colour=red", "{}", 400),
            ("/aspects", "{}", 400),
            ("/aspects?action=getCount", "{}", 400),
            ("/entities?action=delete", "{}", 400),
            ("/entities?action=delete", '{"urn": 1}', 400),
            (f"{DATASETS}?async=maybe", "[]", 400),
            (DATASETS, f"[{'1,' * 6_000}1]", 413),
        ],
    )
    def test_each(self, client: FlaskClient, target: str, body: str, status: int) -> None:
        answer = client.post(target, data=body, content_type="application/json")
        assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")
        assert answer.json["message"] == answer.json["detail"]

    def test_other_media(self, client: FlaskClient) -> None:
        answer = client.post(ASPECTS, data="x", content_type="text/plain")
        assert (answer.status_code, answer.json["message"]) == (415, answer.json["detail"])

    def test_what_cannot_be_read_costs_no_other_proposal(self, client: FlaskClient) -> None:
        answer = client.post(DATASETS, json=[entity(lineage()), entity({"upstreams": 1}), {"urn": 2}])
        assert [fault["at"] for fault in answer.json["errors"]] == [
            "1.upstreamLineage.value",
            "2.urn",
            "1.upstreamLineage.value.upstreams",
            "",
        ]
        assert answer.json["errors"][-1]["detail"] == "the other proposals of the message are recorded"
        assert client.get("/v3/namespaces").json == {"namespaces": ["hive"]}

    def test_a_name_too_long_for_a_row_is_reported(self, client: FlaskClient) -> None:
        payload = json.loads(json.dumps(lineage()).replace("orders", "o" * 4_097))
        assert client.post(DATASETS, json=[entity(payload)]).status_code in (400, 413)
