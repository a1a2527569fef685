"""Rights to record and to change, over HTTP: who may speak for which namespaces."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.audit_runner import findings, wrong

Json = dict[str, Any]

START_MS = 1_700_000_000_000
UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"


def principal(*grants: tuple[Role, str]) -> Principal:
    return Principal("somebody", tuple(Grant(*grant) for grant in grants))


SHOP = principal((Role.RECORDER, "shop"), (Role.READER, "shop"))
STEWARD = principal((Role.STEWARD, "shop"))
SHOP_ADMIN = principal((Role.ADMIN, "shop"))


@pytest.fixture
def client() -> FlaskClient:
    return create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()


def document(source: str, destination: str, *, run: str = "r1", program: str = "nightly") -> Json:
    """A run that copies field `x` from a dataset `a` to a dataset `b`, of these namespaces."""
    return {
        "run": {"application": "app", "type": "spark", "program": program, "run": run, "startTime": START_MS},
        "operations": [
            {
                "type": "READ",
                "name": "read",
                "source": {"namespace": source, "name": "a", "description": "as others describe it"},
                "outputs": [{"name": "x", "type": "as others type it"}],
            },
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"namespace": destination, "name": "b"},
                "inputs": [{"origin": "read", "name": "x"}],
            },
        ],
    }


def record(
    client: FlaskClient, caller: Principal | None, body: Json, *, namespace: str = "shop", **query: str
) -> TestResponse:
    return client.post(
        f"/v3/namespaces/{namespace}/lineage",
        json=body,
        query_string=query,
        environ_overrides={PRINCIPAL: caller} if caller else {},
    )


COPIED_FROM_OTHERS: Json = {
    "namespace": "shop",
    "name": "b",
    "facets": {
        "columnLineage": {
            "fields": {"x": {"inputFields": [{"namespace": "hr", "name": "a", "field": "x"}]}},
            "_producer": "p",
            "_schemaURL": "s",
        }
    },
}
"""An output whose field comes from a dataset of others."""


def event(**datasets: list[Json]) -> Json:
    """An event of OpenLineage of a job in `shop`, with these inputs and outputs."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2023-11-14T22:13:20Z",
        "producer": "p",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "00000000-0000-4000-8000-000000000001"},
        "job": {"namespace": "shop", "name": "job"},
        **datasets,
    }


def post_event(client: FlaskClient, caller: Principal | None, body: Json) -> TestResponse:
    overrides = {PRINCIPAL: caller} if caller else {}
    return client.post("/api/v1/lineage", json=body, environ_overrides=overrides)


def get(client: FlaskClient, path: str, caller: Principal | None = None) -> TestResponse:
    return client.get(path, environ_overrides={PRINCIPAL: caller} if caller else {})


@pytest.mark.parametrize("dry_run", ["false", "true"])
@pytest.mark.parametrize(
    ("namespace", "destination", "names"),
    [("hr", "shop", "'hr'"), ("shop", "hr", "'hr'"), ("hr", "x", "'hr'")],
)
def test_the_program_and_all_that_is_written_need_the_right(
    client: FlaskClient, namespace: str, destination: str, names: str, dry_run: str
) -> None:
    answer = record(client, SHOP, document("shop", destination), namespace=namespace, dryRun=dry_run)
    assert (answer.status_code, answer.json["type"]) == (403, "urn:fll-hbase:problem:forbidden")
    assert f"role `recorder` on {names}" in answer.json["detail"]
    assert get(client, "/v3/namespaces").json == {"namespaces": []}


def test_a_reader_records_nothing(client: FlaskClient) -> None:
    reader = principal((Role.READER, "*"))
    assert record(client, reader, document("shop", "shop")).status_code == 403


def test_a_recorder_that_is_no_reader_reads_nothing(client: FlaskClient) -> None:
    recorder = principal((Role.RECORDER, "shop"))
    assert record(client, recorder, document("shop", "shop")).status_code == 201
    path = "/v3/namespaces/shop/endpoints/b/fields/lineage?start=0"
    assert get(client, path).status_code == 200
    hidden, unknown = get(client, path, recorder), get(client, path.replace("/b/", "/c/"), recorder)
    assert (hidden.status_code, hidden.text) == (404, unknown.text.replace("shop/c", "shop/b"))
    assert get(client, "/v3/runs?start=0", recorder).json == {"runs": []}


def test_sources_need_no_right_and_are_not_described_by_others(client: FlaskClient) -> None:
    assert record(client, SHOP, document("hr", "shop")).status_code == 201
    lineage = get(client, "/v3/namespaces/shop/endpoints/b/fields/lineage?start=0").json
    assert lineage[0]["source"] == {"namespace": "hr", "name": "a"}
    assert client.get("/v3/namespaces").json == {"namespaces": ["shop"]}
    assert client.get("/v3/namespaces/hr/endpoints/a").status_code == 404
    # Who may record there names and describes it.
    assert record(client, None, document("hr", "shop", run="r2")).status_code == 201
    assert client.get("/v3/namespaces/hr/endpoints/a").json["description"] == "as others describe it"
    [field] = client.get("/v3/namespaces/hr/endpoints/a/fields").json["fields"]
    assert field == {"name": "x", "type": "as others type it", "read": True, "written": False}


def test_a_name_that_waits_appears_also_by_the_same_operations(client: FlaskClient) -> None:
    """Without types and descriptions both record the same, but the contents of both are not the same."""
    body = document("hr", "shop")
    body["operations"][0]["source"] = {"namespace": "hr", "name": "a"}
    body["operations"][0]["outputs"] = [{"name": "x"}]
    path = "/v3/namespaces/hr/endpoints/a"
    assert record(client, SHOP, body).status_code == 201
    waiting = client.get(f"{path}/fields/x/lineage?start=0&direction=forward").json
    assert client.get(f"{path}/fields").status_code == 404
    assert record(client, None, body | {"run": body["run"] | {"run": "r2"}}).status_code == 201
    assert [field["name"] for field in client.get(f"{path}/fields").json["fields"]] == ["x"]
    # Who recorded it does not change lineage.
    confirmed = client.get(f"{path}/fields/x/lineage?start=0&direction=forward").json
    assert (confirmed["nodes"], confirmed["operations"]) == (waiting["nodes"], waiting["operations"])
    [stretch] = client.get("/v3/namespaces/shop/endpoints/b/fields/x/history?start=0").json["stretches"]
    assert stretch["runs"] == 2


def test_events_do_not_describe_sources_of_others_either(client: FlaskClient) -> None:
    schema = {"_producer": "p", "_schemaURL": "s", "fields": [{"name": "x", "type": "INT"}]}
    described = {"_producer": "p", "_schemaURL": "s", "description": "as others describe it"}
    symlinks = {
        "_producer": "p",
        "_schemaURL": "s",
        "identifiers": [{"namespace": "hr", "name": "secret", "type": "TABLE"}],
    }
    body = event(
        inputs=[{"namespace": "hr", "name": "a", "facets": {"schema": schema, "documentation": described}}],
        outputs=[{"namespace": "shop", "name": "b", "facets": {"schema": schema, "symlinks": symlinks}}],
    )
    assert post_event(client, SHOP, body).status_code == 201
    assert client.get("/v3/namespaces/hr/endpoints/a").status_code == 404
    # An alias would make the answers about one dataset those about the other.
    assert client.get("/v3/namespaces/hr/endpoints/secret").status_code == 404
    body["outputs"][0]["namespace"] = "hr"
    assert post_event(client, SHOP, body).status_code == 403


def test_an_event_of_somebody_with_the_right_confirms_the_source_of_a_run() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    body = event(outputs=[COPIED_FROM_OTHERS], inputs=[{"namespace": "hr", "name": "a"}])
    assert post_event(client, SHOP, body | {"eventType": "START"}).status_code == 201
    assert client.get("/v3/namespaces/hr/endpoints/a").status_code == 404
    assert post_event(client, None, body).status_code == 201
    checksum = client.get("/v3/runs/00000000-0000-4000-8000-000000000001").json["checksum"]
    operations = store.components.contents.content(checksum).operations
    assert not any(getattr(operation, "is_unconfirmed", False) for operation in operations)
    [field] = client.get("/v3/namespaces/hr/endpoints/a/fields").json["fields"]
    assert (field["name"], field["read"]) == ("x", True)


def test_the_check_of_the_store_finds_no_name_missing_that_waits() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    shop = create_app(store).test_client()
    assert record(shop, SHOP, document("hr", "shop")).status_code == 201
    assert post_event(shop, SHOP, event(outputs=[COPIED_FROM_OTHERS | {"name": "c"}])).status_code == 201
    assert get(shop, "/v3/namespaces/shop/endpoints/c/fields/lineage?start=0", SHOP).json
    assert not wrong(findings(store.table))
    assert get(shop, "/v3/namespaces").json == {"namespaces": ["shop"]}


@pytest.mark.parametrize("replace", ["false", "true"])
def test_the_id_of_a_run_of_others_is_in_use_and_stays_theirs(client: FlaskClient, replace: str) -> None:
    theirs = document("hr", "hr", program="payroll", run=UUID)
    assert record(client, None, theirs, namespace="hr").status_code == 201
    stored = get(client, f"/v3/runs/{UUID}").json
    mine = document("shop", "shop", run=UUID)
    answer = record(client, SHOP, mine, replace=replace)
    assert (answer.status_code, answer.json["detail"]) == (
        409,
        f"run id '{UUID}' is already in use; nothing was stored. Give the run another id",
    )
    preview = record(client, SHOP, mine, replace=replace, dryRun="true")
    assert (preview.status_code, preview.json["detail"]) == (409, answer.json["detail"])
    assert get(client, f"/v3/runs/{UUID}").json == stored


def test_any_other_id_is_free_in_each_namespace(client: FlaskClient) -> None:
    theirs = document("hr", "hr", program="payroll")
    assert record(client, None, theirs, namespace="hr").status_code == 201
    assert record(client, SHOP, document("shop", "shop"), replace="true").status_code == 201
    assert get(client, "/v3/namespaces/hr/runs/r1").json["program"] == "payroll"
    assert get(client, "/v3/namespaces/shop/runs/r1").json["program"] == "nightly"
    several = get(client, "/v3/runs/r1")
    assert (several.status_code, several.json["detail"]) == (
        409,
        "runs 'r1' exist in the namespaces 'hr', 'shop': give the namespace, too",
    )


def test_a_run_of_ones_own_is_replaced(client: FlaskClient) -> None:
    assert record(client, SHOP, document("shop", "shop")).status_code == 201
    other = document("shop", "shop", program="hourly")
    assert record(client, SHOP, other).status_code == 409
    assert record(client, SHOP, other, replace="true").json["replaced"]
    assert get(client, "/v3/runs/r1").json["program"] == "hourly"


def test_a_batch_has_an_error_for_each_line_that_may_not_be_recorded(client: FlaskClient) -> None:
    import json

    lines = [
        document("shop", "shop", run="r1"),
        document("shop", "hr", run="r2"),
        document("x", "shop", run="r3"),
    ]
    answer = client.post(
        "/v3/namespaces/shop/lineage/batch",
        data="\n".join(map(json.dumps, lines)),
        content_type="application/x-ndjson",
        environ_overrides={PRINCIPAL: SHOP},
    )
    statuses = [json.loads(line).get("status", 201) for line in answer.data.splitlines()]
    assert statuses == [201, 403, 201]


def test_select_of_everything_does_not_copy_columns_that_are_hidden(client: FlaskClient) -> None:
    """The columns of a table are looked up in the catalogue: a recorder could read there what it may not."""
    assert record(client, None, document("hr", "hr"), namespace="hr").status_code == 201
    sql = {
        "run": {"application": "a", "type": "sql", "program": "p", "run": "r9", "startTime": START_MS},
        "sql": {"text": "INSERT INTO shop.mine SELECT * FROM hr.b", "dialect": "spark", "namespace": "hr"},
    }
    answer = client.post("/v3/namespaces/shop/sql", json=sql, environ_overrides={PRINCIPAL: SHOP})
    assert "x" not in str((answer.json or {}).get("lineage", "")), answer.text
    fields = client.get("/v3/namespaces/hr/endpoints/shop.mine/fields")
    assert fields.status_code == 404 or fields.json["fields"] == []


def test_a_guessed_checksum_confirms_nothing(client: FlaskClient) -> None:
    """A caller that guesses all names of a hidden table could hash them as the store does."""
    checksum = record(client, None, document("hr", "shop")).json["checksum"]
    assert client.get(f"/v3/contents/{checksum}").status_code == 200
    hidden, unknown = (get(client, f"/v3/contents/{name}", SHOP) for name in (checksum, "0" * 32))
    assert (hidden.status_code, hidden.text.replace(checksum, "0" * 32)) == (404, unknown.text)
    [run] = get(client, "/v3/namespaces/shop/endpoints/b/runs?start=0", SHOP).json["runs"]
    assert run["checksum"] != checksum
    assert get(client, f"/v3/contents/{run['checksum']}", SHOP).status_code == 404


def test_tags_need_a_steward_and_what_is_hidden_changes_no_answer(client: FlaskClient) -> None:
    assert record(client, None, document("hr", "shop")).status_code == 201
    mine = "/v3/namespaces/shop/endpoints/b/fields/x/tags/PII"
    theirs = "/v3/namespaces/hr/endpoints/a/fields/x/tags/PII"
    unknown = "/v3/namespaces/hr/endpoints/none/fields/x/tags/PII"
    for caller, statuses in ((SHOP, [403, 403, 403]), (STEWARD, [201, 403, 403])):
        answers = [
            client.put(path, json={}, environ_overrides={PRINCIPAL: caller})
            for path in (mine, theirs, unknown)
        ]
        assert [answer.status_code for answer in answers] == statuses
        assert answers[1].text == answers[2].text
    assert client.delete(mine, environ_overrides={PRINCIPAL: SHOP}).status_code == 403
    assert client.delete(mine, environ_overrides={PRINCIPAL: STEWARD}).status_code == 204


def test_lists_of_tags_say_whether_they_may_be_changed(client: FlaskClient) -> None:
    assert record(client, None, document("hr", "shop")).status_code == 201
    path = "/v3/namespaces/shop/endpoints/b/fields/x/tags"
    callers = {None: True, SHOP: False, STEWARD: True, SHOP_ADMIN: True}
    for query in ("", "?inherited=true"):
        assert {
            caller: "changeable" not in get(client, path + query, caller).json for caller in callers
        } == callers


def test_policies_on_tags_concern_all_namespaces(client: FlaskClient) -> None:
    assert record(client, None, document("hr", "shop")).status_code == 201
    field = {"namespace": "shop", "name": "b", "field": "x"}
    by_tag, by_field = {"maxAge": "1d", "tag": "PII"}, {"maxAge": "1d", "field": field}

    def put(caller: Principal | None, name: str, body: Json) -> int:
        overrides = {PRINCIPAL: caller} if caller else {}
        unknown = "allowUnknown=true" if "tag" in body else ""
        return client.put(
            f"/v3/policies/{name}?{unknown}", json=body, environ_overrides=overrides
        ).status_code

    assert put(STEWARD, "tag", by_tag) == 403
    assert put(principal((Role.STEWARD, "*")), "tag", by_tag) == 201
    assert put(STEWARD, "field", by_field) == 201
    theirs = {"maxAge": "1d", "field": {"namespace": "hr", "name": "a", "field": "x"}}
    assert put(STEWARD, "theirs", theirs) == 422
    assert put(None, "theirs", theirs) == 201
    # A name that is in use for what is hidden is free, and that policy stays.
    assert put(STEWARD, "theirs", by_field) == 201
    assert client.get("/v3/policies/theirs").status_code == 409
    for namespace in ("hr", "shop"):
        stored = client.get(f"/v3/policies/theirs?namespace={namespace}").json
        assert stored["field"]["namespace"] == namespace


def test_deletes_need_an_admin(client: FlaskClient) -> None:
    assert record(client, None, document("hr", "shop")).status_code == 201

    def delete(caller: Principal, path: str) -> int:
        target = f"{path}?before=now-1d&dryRun=true"
        return client.delete(target, environ_overrides={PRINCIPAL: caller}).status_code

    mine, theirs = "/v3/namespaces/shop/endpoints/b", "/v3/namespaces/hr/endpoints/a"
    assert [delete(STEWARD, path) for path in (mine, theirs, "/v3/lineage")] == [403, 404, 403]
    assert [delete(SHOP_ADMIN, path) for path in (mine, theirs, "/v3/lineage")] == [202, 404, 403]
    assert delete(principal((Role.ADMIN, "*")), "/v3/lineage") == 202
