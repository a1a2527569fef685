"""docs/record/openlineage.md cannot rot: its settings are those tested, its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests
from openlineage.client.transport import Config
from openlineage.client.transport.http import HttpConfig

from api import create_app
from fll_hbase.runtime.config import from_environment
from fll_hbase.sources import name_rules
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.agent_settings import AGENT
from tests.support.commands import serving
from tests.support.recorded_events import datasets, events

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "record" / "openlineage.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    (result,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)
    return str(result)


def test_spark_is_set_up_as_in_the_tests() -> None:
    payload = dict(line.split() for line in block("properties").splitlines())
    group, artifact, version = payload.pop("spark.jars.packages").split(":")
    pom = (ROOT / "tests" / "spark_agent" / "pom.xml").read_text()
    assert f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId>" in pom
    assert f"<openlineage.version>{version}</openlineage.version>" in pom
    assert payload.pop("spark.openlineage.transport.url") == "http://127.0.0.1:8080"
    assert (
        payload.pop("spark.openlineage.transport.type")
        == AGENT["spark.openlineage.transport.transports.server.type"]
    )
    assert payload.items() <= AGENT.items()


def test_the_transport_is_one_that_the_client_knows() -> None:
    payload = dict(line.strip().split(": ", 1) for line in block("yaml").splitlines()[1:])
    assert payload.pop("type") == "http"
    config: Config = HttpConfig.from_dict(payload)
    assert config.url == "http://127.0.0.1:8080"  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_python_shown_records(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as url:
        exec(compile(block("python").replace("http://127.0.0.1:8080", url), "openlineage.md", "exec"), {})
        query = f"{url}/v3/namespaces/pg:%2F%2Fshop/endpoints/daily/fields/lineage?direction=backward"
        (entry,) = requests.get(query, timeout=120).json()
    assert (entry["source"]["name"], entry["fieldmap"]) == ("orders", [{"from": "price", "to": "total"}])


def test_the_name_rules_shown_name() -> None:
    ((name, value),) = re.findall(r"^(FLL_\w+)='(.*)'$", PAGE, re.M)
    rules = name_rules.parse_rules(from_environment({name: value}).name_rules)
    rows = re.findall(r"^\| `(/[^`]*)` \| `(/[^`]*)` \|$", PAGE, re.M)
    assert len(rows) == 3
    assert all(rules.apply(physical) == logical for physical, logical in rows)


def test_every_route_is_reported() -> None:
    app = create_app(LineageStore(open_table("sqlite:///:memory:")))
    routes = [rule.rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("openlineage.")]
    assert len(routes) == 3
    assert all(f"| `POST {route}` |" in PAGE for route in routes)


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["run", "job", "dataset"])
def test_every_facet_that_the_agent_sends_is_reported(owner: str) -> None:
    for event in events():
        holders = [dataset for _, dataset in datasets(event)] if owner == "dataset" else [event[owner]]
        for name in {name for holder in holders for name in holder.get("facets", ())}:
            assert f"`{name}`" in PAGE, name
