"""Tables of the command line name hidden datasets and programs as its other answers do: `hidden 1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from fll_hbase.model.access import Grant, Role
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import open_table
from tests.support.commands import fll
from tests.support.token_server import TokenServer

DOCUMENT: dict[str, Any] = {
    "run": {
        "application": "app",
        "type": "spark",
        "program": "copy",
        "run": "r1",
        "startTime": 1_700_000_000_000,
    },
    "operations": [
        {
            "type": "READ",
            "name": "read",
            "source": {"namespace": "secret", "name": "salaries"},
            "outputs": ["x"],
        },
        {
            "type": "WRITE",
            "name": "write",
            "destination": {"namespace": "open", "name": "report"},
            "inputs": [{"origin": "read", "name": "x"}],
        },
    ],
}
WINDOW = ("--start", "0", "--end", "now")
COMMANDS = {
    "lineage": ("lineage", "open/report", *WINDOW),
    "field": ("field", "open/report.x", *WINDOW),
    "reach": ("reach", "open/report.x", *WINDOW),
    "runs": ("runs", "open/report", *WINDOW),
    "programs": ("programs", "open/report", *WINDOW),
    "run": ("run", "r2"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tables") / "store.db", workers=1) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        # A run is shown by its id where its program is visible.
        for namespace, run in (("secret", "r1"), ("open", "r2")):
            target = f"{server.url}/v3/namespaces/{namespace}/lineage"
            document = DOCUMENT | {"run": DOCUMENT["run"] | {"run": run}}
            assert requests.post(target, json=document, headers=headers, timeout=120).status_code == 201
        yield server


@pytest.fixture
def reader(server: TokenServer, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(f"sqlite:///{server.store}")
    _, token = AccessStore(table).create_token("reader", [Grant(Role.READER, "open")])
    table.close()
    monkeypatch.setenv("FLL_TOKEN", token.text())


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_but_a_number(name: str, server: TokenServer) -> None:
    shown = fll(*COMMANDS[name], "--server", server.url)
    assert shown.exit_code == 0, shown.stderr
    assert "salaries" not in shown.stdout
    assert re.search(r"(?<!/)hidden 1", shown.stdout), shown.stdout
    assert not re.search(r"/+hidden|hidden 1/", shown.stdout), shown.stdout
