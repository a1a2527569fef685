"""A tenant that takes the run ids and names of policies of others, and what it learns of these."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.access import Role
from tests.support.granted_server import GrantedServer, granted_server
from tests.support.raw_http import Answer

DATES = [f"2026-01-{day:02}" for day in range(1, 6)]
UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"
START_MS = 1_700_000_000_000
ALWAYS = "start=0&end=now"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantedServer]:
    folder: Path = tmp_path_factory.mktemp("squatted")
    with granted_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(server: GrantedServer) -> dict[str, str]:
    """The tokens of the tenants `shop` and `bank`, of who sees all, and of a reader of what they share."""
    roles = Role.RECORDER, Role.STEWARD
    tenants = {
        name: server.token(*((role, name) for role in roles), (Role.READER, "shared"), name=name)
        for name in ("shop", "bank")
    }
    return tenants | {
        "all": server.token((Role.ADMIN, "*"), name="all"),
        "guest": server.token((Role.READER, "shared"), name="guest"),
    }


def record(server: GrantedServer, token: str, namespace: str, run: str, **query: str) -> Answer:
    suffix = "&".join(f"{name}={value}" for name, value in query.items())
    body = {
        "run": {
            "application": "a",
            "type": "t",
            "program": f"p-{namespace}",
            "run": run,
            "startTime": START_MS,
        },
        "operations": [
            {
                "type": "READ",
                "name": "r",
                "source": {"namespace": "shared", "name": "rates"},
                "outputs": ["x"],
            },
            {
                "type": "WRITE",
                "name": "w",
                "destination": {"name": "t"},
                "inputs": [{"origin": "r", "name": "x"}],
            },
        ],
    }
    return server.send(token, "POST", f"/v3/namespaces/{namespace}/lineage?{suffix}", body)


def parsed(answer: Answer) -> Any:
    return json.loads(answer.body)


def test_a_squatted_run_id_blocks_no_tenant_and_is_in_no_answer(
    server: GrantedServer, tokens: dict[str, str]
) -> None:
    first = [record(server, tokens["bank"], "bank", run) for run in DATES]
    second = [record(server, tokens["shop"], "shop", run) for run in DATES]
    assert {answer.status for answer in (*first, *second)} == {201}
    dry = record(server, tokens["shop"], "shop", DATES[0], dryRun="true")
    assert "conflict" not in dry.body.decode().lower()
    assert b"bank" not in dry.body
    replaced = record(server, tokens["shop"], "shop", DATES[0], replace="true")
    assert (replaced.status, parsed(replaced)["recorded"]) == (200, False), "its own run, and no other"
    for tenant in ("shop", "bank"):
        for run in DATES:
            answer = server.get(tokens[tenant], f"/v3/runs/{run}")
            assert parsed(answer)["namespace"] == tenant
            exact = server.get(tokens[tenant], f"/v3/namespaces/{tenant}/runs/{run}")
            assert exact.body == answer.body
    other = server.get(tokens["shop"], f"/v3/namespaces/bank/runs/{DATES[0]}")
    never = server.get(tokens["shop"], f"/v3/namespaces/bonk/runs/{DATES[0]}")
    assert (other.status, other.body.replace(b"bank", b"bonk")) == (404, never.body)
    several = server.get(tokens["all"], f"/v3/runs/{DATES[0]}")
    assert several.status == 409
    assert "'bank', 'shop'" in parsed(several)["detail"]


def test_the_uuid_of_a_run_of_others_is_in_use_whoever_they_are(
    server: GrantedServer, tokens: dict[str, str]
) -> None:
    assert record(server, tokens["bank"], "bank", UUID).status == 201
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "x",
        "run": {"runId": UUID},
        "job": {"namespace": "shop", "name": "job"},
        "outputs": [{"namespace": "shop", "name": "t2"}],
    }
    for answer in (
        record(server, tokens["shop"], "shop", UUID),
        record(server, tokens["shop"], "shop", UUID, replace="true"),
        server.send(tokens["shop"], "POST", "/api/v1/lineage", event),
    ):
        assert answer.status == 409
        assert b"bank" not in answer.body
    assert server.get(tokens["shop"], f"/v3/runs/{UUID}").status == 404
    assert parsed(server.get(tokens["bank"], f"/v3/runs/{UUID}"))["program"] == "p-bank"


def test_a_squatted_policy_blocks_no_tenant_and_is_in_no_answer(
    server: GrantedServer, tokens: dict[str, str]
) -> None:
    for run, tenant in ((DATES[0], "bank"), (DATES[0], "shop")):
        record(server, tokens[tenant], tenant, run)
    for tenant in ("bank", "shop"):
        field = {"namespace": tenant, "name": "t", "field": "x"}
        put = server.send(
            tokens[tenant], "PUT", "/v3/policies/gdpr", {"maxAge": f"{len(tenant)}d", "field": field}
        )
        assert put.status == 201, put.body
    server.send(
        tokens["bank"], "PUT", "/v3/policies/hold", {"maxAge": "1d", "field": field | {"namespace": "bank"}}
    )
    assert server.get(tokens["shop"], "/v3/policies/hold").status == 404
    listed = parsed(server.get(tokens["shop"], "/v3/policies"))["policies"]
    assert [(item["name"], item["field"]["namespace"]) for item in listed] == [("gdpr", "shop")]
    assert parsed(server.get(tokens["shop"], "/v3/policies/gdpr"))["field"]["namespace"] == "shop"
    report = server.get(tokens["shop"], "/v3/reports/retention?policy=gdpr")
    assert (report.status, parsed(report)["policy"]["field"]["namespace"]) == (200, "shop")
    several = server.get(tokens["all"], "/v3/policies/gdpr")
    assert (several.status, "'bank', 'shop'" in parsed(several)["detail"]) == (409, True)
    assert parsed(server.get(tokens["all"], "/v3/policies/gdpr?namespace=bank"))["maxAge"] == "4d"
    assert server.send(tokens["shop"], "DELETE", "/v3/policies/hold").status == 404
    assert server.send(tokens["shop"], "DELETE", "/v3/policies/gdpr").status == 204
    assert server.get(tokens["bank"], "/v3/policies/gdpr").status == 200


def test_run_ids_of_hidden_programs_are_in_no_answer(server: GrantedServer, tokens: dict[str, str]) -> None:
    secret = "project-x.model.salaries"
    for tenant in ("bank", "shop"):
        for run in (f"dbt:{secret}", *DATES):
            record(server, tokens[tenant], tenant, run)
    endpoint = "/v3/namespaces/shared/endpoints/rates"
    for target in (
        f"{endpoint}/runs?{ALWAYS}",
        f"{endpoint}/runs?{ALWAYS}&limit=1",
        f"{endpoint}/programs?{ALWAYS}",
        f"{endpoint}/fields/x/reach?{ALWAYS}&direction=forward&counts=true",
        f"{endpoint}/fields/x/history?{ALWAYS}",
        f"/v3/namespaces/shared/datasets/rates/fields/x/lineage?{ALWAYS}",
        f"/v3/reports/consumption?namespace=shared&endpoint=rates&field=x&{ALWAYS}",
        f"{endpoint}/openlineage?{ALWAYS}",
        f"/v3/runs?{ALWAYS}",
    ):
        for accept in ("application/json", "text/csv", "text/html"):
            answer = server.get(tokens["guest"], target, Accept=accept)
            text = str(answer.headers) + answer.body.decode()
            for word in (secret, *DATES, "p-bank"):
                assert word not in text, (target, accept)
    assert server.get(tokens["guest"], f"/v3/runs/{DATES[0]}").status == 404
    for tenant in ("guest", "shop"):
        everything = parsed(server.get(tokens[tenant], f"{endpoint}/runs?{ALWAYS}"))["runs"]
        paged: list[Any] = []
        cursor = ""
        while True:
            page = server.get(tokens[tenant], f"{endpoint}/runs?{ALWAYS}&limit=2{cursor}")
            paged += parsed(page)["runs"]
            link = page.headers.get("link", "")
            if "cursor=" not in link:
                break
            text = re.split("cursor=|[&>]", link.partition("cursor=")[2])[0]
            cursor = f"&cursor={text}"
            position = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
            assert "bank" not in position
        assert len(paged) == len(everything) >= 12
        shown = [run["run"] for run in paged if "hidden" not in run]
        assert shown == [run["run"] for run in everything if "hidden" not in run]
        assert len(shown) == (6 if tenant == "shop" else 0)
