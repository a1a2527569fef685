"""One run with all that is recorded of it, and one content by its checksum."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import assert_problem, error_paths, record, record_new
from tests.support.lineage_documents import copying, run, worked

EVENT = {
    "eventTime": "2026-01-31T09:30:00Z",
    "eventType": "COMPLETE",
    "producer": "https://example.com/producer",
    "run": {"runId": "of events"},
    "job": {"namespace": "ns1", "name": "nightly"},
    "inputs": [{"namespace": "ns1", "name": "orders"}],
    "outputs": [{"namespace": "ns1", "name": "bills"}],
}


def stored(operation: dict[str, Any]) -> dict[str, Any]:
    """Return an operation with the defaults that the server fills in."""
    outputs = [{"name": item} if isinstance(item, str) else item for item in operation.get("outputs", ())]
    inputs = [{"influence": "direct", **item} for item in operation.get("inputs", ())]
    filled: dict[str, Any] = {"description": "", **operation}
    filled |= {"outputs": outputs} if "outputs" in operation else {}
    filled |= {"inputs": inputs} if "inputs" in operation else {}
    for name in ("source", "destination"):
        if name in operation:
            filled[name] = {"namespace": "ns1", "description": "", **operation[name]}
    return filled


class TestRun:
    def test_a_document_lists_its_datasets_and_operations(self, client: FlaskClient) -> None:
        document = worked(run="r1")
        (checksum,) = record_new(client, document)
        details = get_json_of(client, "/v3/runs/r1")
        assert (details["run"], details["checksum"]) == ("r1", checksum)
        assert details["endpoints"] == [
            {"namespace": "ns1", "name": "people", "direction": "backward"},
            {"namespace": "ns1", "name": "user_data", "direction": "forward"},
        ]
        expected = sorted(map(stored, document["operations"]), key=lambda item: str(item["name"]))
        assert details["operations"] == expected

    def test_what_it_lists_is_recorded_again_as_the_same(self, client: FlaskClient) -> None:
        (checksum,) = record_new(client, worked(run="r1"))
        operations = get_json_of(client, "/v3/runs/r1")["operations"]
        again = record(client, {"run": run("r2"), "operations": operations})
        assert (again.status_code, again.json["checksum"]) == (201, checksum)

    def test_a_dataset_that_is_read_and_written(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "a", "x", run=run("r1")))
        (endpoint,) = get_json_of(client, "/v3/runs/r1")["endpoints"]
        assert endpoint == {"namespace": "ns1", "name": "a", "direction": "both"}

    def test_a_run_of_events_lists_what_they_amount_to(self, client: FlaskClient) -> None:
        assert client.post("/api/v1/lineage", json=EVENT).status_code == 201
        details = get_json_of(client, "/v3/runs/of%20events")
        assert [item["direction"] for item in details["endpoints"]] == ["backward", "forward"]
        assert [item["type"] for item in details["operations"]] == ["READ", "WRITE"]
        assert len(details["events"]) == 1

    def test_an_unknown_run_is_404(self, client: FlaskClient) -> None:
        assert_problem(client.get("/v3/runs/r1"), 404)


class TestContent:
    def test_it_is_what_its_runs_performed(self, client: FlaskClient) -> None:
        (checksum,) = record_new(client, worked(run="r1"))
        content = get_json_of(client, f"/v3/contents/{checksum}")
        details = get_json_of(client, "/v3/runs/r1")
        assert content == {name: details[name] for name in ("checksum", "endpoints", "operations")}

    def test_it_may_be_cached_for_ever(self, client: FlaskClient) -> None:
        (checksum,) = record_new(client, worked())
        first = client.get(f"/v3/contents/{checksum}")
        assert first.headers["Cache-Control"] == "private, max-age=31536000, immutable"
        again = client.get(f"/v3/contents/{checksum}", headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")

    def test_replaced_content_stays_until_it_is_collected(self, client: FlaskClient) -> None:
        first, _ = (
            record(client, copying("a", "b", field, run=run("r1"))).json["checksum"] for field in ("x", "y")
        )
        assert get_json_of(client, f"/v3/contents/{first}")["checksum"] == first

    def test_an_unknown_checksum_is_404(self, client: FlaskClient) -> None:
        answered = client.get("/v3/contents/" + "0" * 32)
        assert "GET /v3/runs/<run>" in assert_problem(answered, 404)["detail"]
        assert "Cache-Control" not in answered.headers

    @pytest.mark.parametrize("text", ["0" * 31, "0" * 33, "G" * 32, "A" * 32, "%20", "x"])
    def test_what_is_no_checksum_is_400(self, client: FlaskClient, text: str) -> None:
        assert error_paths(client.get(f"/v3/contents/{text}"), 400) == ["checksum"]


def get_json_of(client: FlaskClient, path: str) -> Any:
    """Return the answer to a path, which must be 200."""
    answered = client.get(path)
    assert answered.status_code == 200, answered.text
    return answered.json
