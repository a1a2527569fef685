"""The right before the body: who may not do what a request asks for is refused without reading it."""

from __future__ import annotations

from io import RawIOBase
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem

VALUES = {
    "namespace": "shop",
    "name": "orders",
    "field": "id",
    "tag": "PII",
    "policy": "p",
    "entity": "dataset",
}
OTHERS = ("hr", "never-seen")
STEWARDS = ("tags", "policies")
ACTIONS = {"/aspects": "ingestProposal", "/entities": "ingest"}
"""The query parameter that routes of DataHub need."""


class Body(RawIOBase):
    """A body that breaks off, and notes that somebody read it."""

    was_read = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.was_read = True
        raise OSError("broken off")


@pytest.fixture
def client() -> FlaskClient:
    return create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()


def routes_with_bodies(client: FlaskClient) -> list[tuple[str, str]]:
    """Method and path of each operation of the OpenAPI document that takes a body."""
    paths = client.get("/openapi.json").json["paths"]
    return [
        (method, path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if method != "parameters" and "requestBody" in operation
    ]


def needed(path: str) -> Role:
    """The role without which a request to a path is refused."""
    if path in ("/v3/questions", "/v3/impact"):
        return Role.READER
    return Role.STEWARD if any(part in path for part in STEWARDS) else Role.RECORDER


def send(client: FlaskClient, method: str, path: str, caller: Principal, **values: str) -> tuple[Any, bool]:
    """The answer to a request with a body, and whether the body was read."""
    body = Body()
    answer = client.open(
        path.format_map({**VALUES, **values}),
        method=method,
        query_string={"action": ACTIONS[path]} if path in ACTIONS else {},
        content_type="application/json",
        environ_overrides={PRINCIPAL: caller, "wsgi.input": body, "CONTENT_LENGTH": "100"},
    )
    return answer, body.was_read


def refusal(client: FlaskClient, method: str, path: str, caller: Principal, **values: str) -> str:
    """The detail of the 403 that is the answer without a look at the body."""
    answer, was_read = send(client, method, path, caller, **values)
    assert not was_read
    detail: str = assert_problem(answer, 403)["detail"]
    return detail


def test_nothing_is_read_of_who_has_no_right(client: FlaskClient) -> None:
    routes = routes_with_bodies(client)
    assert len(routes) >= 12
    for method, path in routes:
        role = needed(path)
        others = tuple(Grant(other, "*") for other in (Role.READER, Role.RECORDER) if other is not role)
        for grants in ((), others):
            assert f"role `{role.value}`" in refusal(client, method, path, Principal("p", grants)), path


def test_the_namespace_of_the_path_is_looked_at_before_the_body(client: FlaskClient) -> None:
    routes = [(method, path) for method, path in routes_with_bodies(client) if "{namespace}" in path]
    assert len(routes) >= 6
    for method, path in routes:
        caller = Principal("p", (Grant(needed(path), "shop"), Grant(Role.READER, "shop")))
        texts = {refusal(client, method, path, caller, namespace=name).replace(name, "") for name in OTHERS}
        assert len(texts) == 1
        assert send(client, method, path, caller)[1], path
