"""Queries of every route, over stores that differ only in what is hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from urllib.parse import quote, urlencode

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api import create_app
from api.wire.environ import PRINCIPAL
from api.wire.responses import route_path
from fll_hbase.model.access import Principal
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table, open_table
from tests.access.worlds import Json, Spec, World, documents

FIRST, SECOND = World(reverse=False), World(reverse=True)
WITHOUT = World(reverse=False, has_hidden=False)
WINDOW = {"start": "1690000000", "end": "1710000000"}
NOW_MS = 1_705_000_000_000

# Names that some world hides, and one that none has: all of them are asked about in both worlds.
NAMES = (
    {"namespace": "open", "name": "people", "field": "f0"},
    {"namespace": "open", "name": "secret0table", "field": "f1"},
    {"namespace": "open.b", "name": "people", "field": "f1"},
    {"namespace": "secret0ns", "name": "secret0table", "field": "secret0field"},
    {"namespace": "Q9nsX", "name": "Q9tableX", "field": "Q9fieldX"},
    {"namespace": "none", "name": "none", "field": "none"},
)

VALUES: dict[str, tuple[str, ...]] = {
    "run": ("run-0", "run-1", *(f"00000000-0000-4000-8000-{number:012d}" for number in (0, 1)), "none"),
    "tag": ("PII", "hidden", "none"),
    "policy": ("open-policy", "hidden-policy", "tag-policy", "flow-policy", "hidden-flow", "none"),
    "urn": ("urn:li:dataset:(urn:li:dataPlatform:hive,people,PROD)",),
    "checksum": ("0" * 32,),
}
REPORTS = tuple(
    {"endpoint" if key == "name" else key: name for key, name in names.items()} for names in NAMES
)
QUERIES: dict[str, tuple[Json, ...]] = {
    "/fields/lineage": ({"level": 3}, {"failed": "true"}, {"indirect": "false", "level": 2}),
    "/fields/<field>/lineage": ({"direction": "forward"}, {"view": "simple"}, {"failed": "true"}),
    "/reach": ({"direction": "both"}, {"causal": "true"}, {"counts": "false", "direction": "forward"}),
    "/diff": ({"baseStart": "1690000000", "baseEnd": "1700090000"},),
    "/runs": ({"program": "job0"}, {"program": "secret0job"}, {"state": "FAIL"}, {"limit": 1}),
    "/counts": ({"buckets": 3},),
    "/search": ({"q": "e"}, {"q": "secret"}, {"q": "x", "kind": "field"}, {"q": "f", "limit": 1}),
    "/tags": ({"inherited": "true"},),
    "/programs": ({"failed": "true"},),
    "/reports/consumption": REPORTS,
    "/reports/provenance": REPORTS,
    "/reports/retention": tuple({"policy": policy} for policy in VALUES["policy"] if policy != "flow-policy"),
    "/reports/flows": tuple(
        {"policy": policy, "causal": "false"} for policy in ("flow-policy", "hidden-flow", "none")
    ),
}


def client_of(world: World, specs: list[Spec], table: Table | None = None) -> FlaskClient:
    table = table or open_table("sqlite:///:memory:")
    client = create_app(LineageStore(table, clock=lambda: NOW_MS)).test_client()
    for (path, document), spec in zip(documents(world, specs), specs, strict=True):
        if world.has(spec):
            assert client.post(path, json=document).status_code in (200, 201), (path, document)
    _set_tags(client, world)
    return client


def _set_tags(client: FlaskClient, world: World) -> None:
    """Tag open and hidden fields, and put policies on both, where they exist."""
    secret = world.secret
    for namespace, dataset, field in (
        ("open", "people", "f0"),
        (secret("ns", 0), secret("table", 0), secret("field", 0)),
    ):
        for tag in ("PII", "open" if namespace == "open" else "hidden"):
            client.put(
                _path("namespaces", namespace, "endpoints", dataset, "fields", field, "tags", tag), json={}
            )
        field_name = {"namespace": namespace, "name": dataset, "field": field}
        borrowed = world.borrowed("open-policy", "hidden-policy")
        name = "open-policy" if namespace == "open" else borrowed
        client.put(_path("policies", name) + "?allowUnknown=true", json={"maxAge": "1d", "field": field_name})
    client.put(_path("policies", "tag-policy") + "?allowUnknown=true", json={"maxAge": "1d", "tag": "PII"})
    flow = {"tag": "PII", "into": "open/*", "influence": "any", "unlessMasked": True}
    client.put(_path("policies", "flow-policy") + "?allowUnknown=true", json=flow)
    # Its pattern names a hidden namespace.
    hidden_flow = {"tag": "PII", "into": f"{secret('ns', 0)}/*"}
    client.put(_path("policies", "hidden-flow") + "?allowUnknown=true", json=hidden_flow)


def _path(*segments: str) -> str:
    return "/v3/" + "/".join(quote(segment, safe="") for segment in segments)


def targets(client: FlaskClient, *, checksums: Iterable[str] = ()) -> Iterator[str]:
    """Yield GET requests for every route that reads, so that a new one is asked without being named here.

    Those of contents are also about `checksums`.
    """
    yield from (f"/v3/contents/{checksum}" for checksum in checksums)
    described = client.application.extensions["fll-api"].document()["paths"]
    for rule in client.application.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or not rule.rule.startswith(("/v3", "/openapi/", "/entities")):
            continue
        parameters = [
            parameter
            for parameter in described[route_path(rule.rule)]["get"].get("parameters", [])
            if parameter.get("in") == "query"
        ]
        for path in dict.fromkeys(_filled(rule.rule)):
            yield from (f"{path}?{urlencode(query)}" for query in _queries(rule.rule, parameters))


def _queries(rule: str, parameters: list[Json]) -> Iterator[Json]:
    """Yield the queries of a route that it accepts: with any other all answers are 400."""
    accepted_names = {parameter["name"] for parameter in parameters}
    required = {parameter["name"] for parameter in parameters if parameter.get("required")}
    window = {name: value for name, value in WINDOW.items() if name in accepted_names}
    listed = [
        {},
        *(
            query
            for suffix, queries in QUERIES.items()
            if _pattern(rule).endswith(suffix)
            for query in queries
        ),
    ]
    accepted = [query for query in listed if required <= query.keys() <= accepted_names]
    assert accepted, f"{rule} needs values of {sorted(required)} in QUERIES"
    yield from (window | query for query in accepted)


def _pattern(rule: str) -> str:
    return "/".join(
        f"<{part.partition(':')[2]}" if part.startswith("<") else part for part in rule.split("/")
    )


def _filled(rule: str) -> Iterator[str]:
    """Yield the paths of a route; a new kind of parameter needs values above."""
    names = [part.rpartition(":")[2].rstrip(">") for part in rule.split("/") if part.startswith("<")]
    others = [name for name in names if name not in NAMES[0]]
    for fields in NAMES:
        for values in product(*(VALUES[name] for name in others)):
            arguments = fields | dict(zip(others, values, strict=True))
            yield "/".join(
                quote(arguments[part.rpartition(":")[2].rstrip(">")], safe="")
                if part.startswith("<")
                else part
                for part in rule.split("/")
            )


def ask(client: FlaskClient, target: str, principal: Principal, accept: str) -> TestResponse:
    return client.get(
        target,
        headers={"Accept": accept, "X-Request-ID": "one"},
        environ_overrides={PRINCIPAL: principal},
    )
