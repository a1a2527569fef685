"""docs/record/datahub.md cannot rot: its names are mapped as it says, its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests

from api import create_app
from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.datahub import schema_paths, urns
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import datahub_client
from tests.support.server_process import Server

PAGE = (Path(__file__).parents[2] / "docs" / "record" / "datahub.md").read_text()


@pytest.mark.parametrize(
    ("urn", "namespace", "name"), re.findall(r"^\| `(urn:.*?)` \| `(.*?)` \| `(.*?)` \|$", PAGE, re.M)
)
def test_urns(urn: str, namespace: str, name: str) -> None:
    assert urns.parse_dataset(urn) == Dataset(namespace, name)
    assert urns.dataset_urn(Dataset(namespace, name)) == urn


def test_field_paths() -> None:
    (table,) = re.findall(r"\| field path \| field \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.S)
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \|$", table, re.M)
    assert len(rows) == 5
    assert all(schema_paths.field_name(path) == name for path, name in rows)


def test_every_route_is_reported() -> None:
    app = create_app(LineageStore(open_table("sqlite:///:memory:")))
    routes = [rule.rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("datahub.")]
    assert len(routes) == 6
    assert [rule for rule in routes if re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule) not in PAGE] == []


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path) -> None:
    assert datahub_client.DatahubRestEmitter
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    with Server(tmp_path / "store.db", workers=1) as server:
        url = f"http://127.0.0.1:{server.port}"
        exec(compile(code.replace("http://127.0.0.1:8080", url), "datahub.md", "exec"), {})
        query = f"{url}/v3/namespaces/hive/endpoints/sales.daily/fields/total/lineage"
        message = requests.get(query, timeout=120).json()
    assert {"name": "derive total", "description": "price + tax", "type": "TRANSFORM"} in message[
        "operations"
    ]
