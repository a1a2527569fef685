"""One damaged row ends no list, tells clients nothing of what it holds, and answers name the gap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.keys import access_rows, layout
from fll_hbase.model.access import Grant, Role
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import Put, open_table
from tests.support.granted_server import ADMIN, GrantedServer, granted_server

SECRET = b"secret bytes \xff of somebody"
"""What is in the damaged cells: no answer may show it."""

READER = ((Role.STEWARD, "shop"), (Role.RECORDER, "shop"))
TABLE = "/v3/namespaces/shop/endpoints"
FIELD = DatasetField(Dataset("shop", "b1"), "x")


UUID = "01890000-0000-7000-8000-000000000001"


def document(number: int, run: str = "") -> dict[str, Any]:
    names = {"namespace": "shop"}
    return {
        "run": {
            "application": "a",
            "type": "t",
            "program": "p",
            "run": run or f"run-{number}",
            "startTime": 1_700_000_000_000 + number,
        },
        "operations": [
            {"type": "READ", "name": "r", "source": names | {"name": f"a{number}"}, "outputs": ["x"]},
            {
                "type": "WRITE",
                "name": "w",
                "destination": names | {"name": f"b{number}"},
                "inputs": [{"origin": "r", "name": "x"}],
            },
        ],
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantedServer]:
    """A server whose store has two of everything, one of them damaged."""
    folder = Path(tmp_path_factory.mktemp("damaged"))
    with granted_server(folder) as started:
        admin = started.token(*ADMIN)
        for number in (1, 2, 3):
            answer = started.send(admin, "POST", "/v3/namespaces/shop/lineage", document(number))
            assert answer.status == 201
        assert started.send(admin, "POST", "/v3/namespaces/shop/lineage", document(4, UUID)).status == 201
        for number in (1, 2):
            tag = f"{TABLE}/b{number}/fields/x/tags/PII"
            assert started.send(admin, "PUT", tag, {}).status == 201
            field = {"namespace": "shop", "name": f"b{number}", "field": "x"}
            policy = {"maxAge": "1d", "field": field}
            assert started.send(admin, "PUT", f"/v3/policies/p{number}", policy).status == 201
        table = open_table(f"sqlite:///{folder / 'store.db'}")
        damage = [
            (layout.tags_row(FIELD), layout.tag_column("PII")),
            (layout.dataset_row(FIELD.dataset), layout.DESCRIPTION + b"0" * 32),
        ]
        policies = [key for key, _ in table.scan(layout.POLICIES, layout.POLICIES + b"\x7f")]
        damage.append((min(policies), layout.POLICY))
        for key, row in list(table.scan(layout.RUNS, layout.RUNS + b"\x7f")):
            if b"run-1" in key or UUID.encode() in key:
                damage += [(key, column) for column in row if column.startswith(layout.COMMIT)]
        table.write([[Put(key, column, SECRET) for key, column in damage]])
        table.close()
        yield started


@pytest.mark.parametrize(
    ("path", "member", "listed"),
    [
        ("/v3/policies", "policies", 1),
        ("/v3/tags/PII", "fields", 1),
        (f"{TABLE}/b1/tags", "tags", 0),
        (TABLE, "endpoints", 7),
        ("/v3/runs?start=0", "runs", 2),
        ("/v3/namespaces/shop/runs?start=0", "runs", 2),
        (f"{TABLE}/b1/runs?start=0", "runs", 0),
    ],
)
def test_a_list_leaves_out_what_is_damaged_and_says_so(
    server: GrantedServer, path: str, member: str, listed: int
) -> None:
    for token in (server.token(*ADMIN), server.token(*READER)):
        answer = server.get(token, path)
        assert answer.status == 200, answer.body
        assert len(answer.json[member]) == listed
        bounds = (*answer.json.get("truncatedBy", ()), *answer.headers.get("truncated-by", "").split(", "))
        assert "damaged" in bounds
        assert b"secret" not in answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/v3/policies/p1",
        f"{TABLE}/b1/fields/x/tags",
        f"{TABLE}/b1",
        "/v3/runs/run-1",
        f"{TABLE}/b1/fields/lineage?start=0",
    ],
)
def test_what_is_about_the_damaged_thing_is_an_error_without_its_bytes(
    server: GrantedServer, path: str
) -> None:
    for token in (server.token(*ADMIN), server.token(*READER)):
        answer = server.get(token, path)
        assert answer.status == 500, answer.body
        assert b"secret" not in answer.body


@pytest.mark.parametrize("path", ["/v3/policies/p1", "/v3/runs/run-1", f"/v3/runs/{UUID}"])
def test_what_is_damaged_is_missing_for_those_who_may_not_know_of_it(
    server: GrantedServer, path: str
) -> None:
    token = server.token((Role.STEWARD, "elsewhere"))
    damaged, missing = server.get(token, path), server.get(token, path[:-1] + "9")
    assert (damaged.status, missing.status) == (404, 404)
    # Whose it is, a damaged run with a UUID does not tell.
    assert server.get(server.token(*ADMIN), path).status == 500


def test_tokens_are_listed_without_a_damaged_one() -> None:
    table = open_table("sqlite:///:memory:")
    access = AccessStore(table)
    first, second = (access.create_token(name, [Grant(*ADMIN[0])])[0].id for name in ("one", "two"))
    table.write([[Put(access_rows.token_row(first), access_rows.TOKEN, SECRET)]])
    assert [token.id for token in access.tokens()] == [second]
    table.close()
