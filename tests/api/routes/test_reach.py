"""The route of field reach: its shape, its parameters, and its formats."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import ALL, assert_problem, error_paths, get_json, path, record_new
from tests.support.lineage_documents import RUN, copying

_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
REACH = ("ns1", "endpoints", "raw", "fields", "UID", "reach")


@pytest.fixture
def hops(client: FlaskClient) -> FlaskClient:
    """`UID` goes from `raw` to `orders` and from there to `bills/"new"`."""
    record_new(
        client,
        copying("raw", "orders", "UID", run={**RUN, "run": "1"}),
        copying("orders", 'bills/"new"', "UID", run={**RUN, "run": "2"}),
    )
    return client


def field(name: str) -> dict[str, str]:
    return {"namespace": "ns1", "name": name, "field": "UID"}


def test_the_shape_of_the_contract(hops: FlaskClient) -> None:
    body = get_json(hops, *REACH, direction="forward", **ALL)
    assert body["nodes"] == [
        {**field("raw"), "hops": 0, "inOrder": True},
        {**field("orders"), "hops": 1, "inOrder": True},
        {**field('bills/"new"'), "hops": 2, "inOrder": True},
    ]
    assert [(edge["from"], edge["to"], edge["runs"], edge["influence"]) for edge in body["edges"]] == [
        (field("orders"), field('bills/"new"'), 1, "direct"),
        (field("raw"), field("orders"), 1, "direct"),
    ]
    assert all(edge["firstStart"] == edge["lastStart"] > 0 for edge in body["edges"])
    assert body["truncated"] is False


def test_backward_is_the_default_and_edges_follow_the_data(hops: FlaskClient) -> None:
    body = get_json(hops, "ns1", "endpoints", "orders", "fields", "UID", "reach", **ALL)
    assert [(edge["from"]["name"], edge["to"]["name"]) for edge in body["edges"]] == [("raw", "orders")]


def test_the_level_bounds_the_hops(hops: FlaskClient) -> None:
    body = get_json(hops, *REACH, direction="forward", level=1, **ALL)
    assert len(body["edges"]) == 1
    assert body["truncated"] is False


def test_without_counts_no_edge_has_runs(hops: FlaskClient) -> None:
    body = get_json(hops, *REACH, direction="forward", counts="false", **ALL)
    assert len(body["edges"]) == 2
    assert not any({"runs", "firstStart", "lastStart"} & edge.keys() for edge in body["edges"])


def test_a_known_field_without_lineage_in_the_window_is_alone(hops: FlaskClient) -> None:
    body = get_json(hops, *REACH, start=1, end=2)
    node = {**field("raw"), "hops": 0, "inOrder": True}
    assert body == {"nodes": [node], "edges": [], "truncated": False}


def test_unknown_names_and_parameters_are_problems(hops: FlaskClient) -> None:
    for names in (("raw", "nothing"), ("nothing", "UID"), ("nothing", "*")):
        response = hops.get(path("ns1", "endpoints", names[0], "fields", names[1], "reach"))
        assert_problem(response, 404)
    response = hops.get(f"{path(*REACH)}?level=0&direction=up&causal=yes&levels=2")
    assert set(error_paths(response, 400)) == {"level", "direction", "causal", "levels"}


def test_an_edge_of_failed_runs_alone_says_so(client: FlaskClient) -> None:
    record_new(client, copying("raw", "orders", "UID", run={**RUN, "run": "1", "state": "FAIL"}))
    assert get_json(client, *REACH, direction="forward", **ALL)["edges"] == []
    edges = get_json(client, *REACH, direction="forward", failed="true", **ALL)["edges"]
    assert [(edge["runs"], edge["failed"]) for edge in edges] == [(1, True)]


class TestBothDirections:
    ORDERS = ("ns1", "endpoints", "orders", "fields", "UID", "reach")
    URL = f"{path(*ORDERS)}?direction=both&start=0"

    def test_nodes_and_edges_have_their_direction(self, hops: FlaskClient) -> None:
        body = get_json(hops, *self.ORDERS, direction="both", **ALL)
        assert body["nodes"] == [
            {**field("orders"), "hops": 0, "inOrder": True, "direction": "both"},
            {**field('bills/"new"'), "hops": 1, "inOrder": True, "direction": "forward"},
            {**field("raw"), "hops": 1, "inOrder": True, "direction": "backward"},
        ]
        assert [(edge["to"]["name"], edge["direction"], edge["runs"]) for edge in body["edges"]] == [
            ('bills/"new"', "forward", 1),
            ("orders", "backward", 1),
        ]

    def test_a_csv_column_graphml_data_and_mermaid_classes(self, hops: FlaskClient) -> None:
        text = hops.get(self.URL, headers={"Accept": "text/csv"}).text
        assert [row["direction"] for row in csv.DictReader(io.StringIO(text))] == ["forward", "backward"]
        graphml = hops.get(self.URL, headers={"Accept": "application/graphml+xml"}).data
        for domain, expected in (
            ("node", ["both", "forward", "backward"]),
            ("edge", ["forward", "backward"]),
        ):
            values = ElementTree.fromstring(graphml).iterfind(f".//*[@key='{domain}-direction']")
            assert [item.text for item in values] == expected
        mermaid = hops.get(self.URL, headers={"Accept": "text/vnd.mermaid"}).text
        assert '  n2["ns1/raw.UID"]:::backward' in mermaid.splitlines()
        assert "  classDef backward stroke:#1f6feb" in mermaid.splitlines()

    def test_a_field_without_lineage_in_the_window_is_alone(self, hops: FlaskClient) -> None:
        body = get_json(hops, *self.ORDERS, direction="both", start=1, end=2)
        assert (len(body["nodes"]), body["edges"]) == (1, [])

    def test_a_node_has_the_type_of_the_catalogue(self, client: FlaskClient) -> None:
        typed = copying("raw", "orders", "UID", run={**RUN, "run": "1"})
        typed["operations"][0]["outputs"] = [{"name": "UID", "type": "string"}]
        record_new(client, typed)
        nodes = get_json(client, *REACH, direction="both", **ALL)["nodes"]
        assert [node.get("type") for node in nodes] == ["string", "string"]
        graphml = client.get(f"{path(*REACH)}?start=0", headers={"Accept": "application/graphml+xml"}).text
        assert '<data key="node-type">string</data>' in graphml


class TestFormats:
    URL = f"{path(*REACH)}?direction=forward&start=0"

    def test_csv_has_a_line_for_each_edge(self, hops: FlaskClient) -> None:
        response = hops.get(self.URL, headers={"Accept": "text/csv"})
        assert response.mimetype == "text/csv"
        rows = list(csv.DictReader(io.StringIO(response.text)))
        assert [(row["fromName"], row["toName"], row["runs"]) for row in rows] == [
            ("orders", 'bills/"new"', "1"),
            ("raw", "orders", "1"),
        ]

    def test_graphml_has_nodes_and_edges_with_their_members(self, hops: FlaskClient) -> None:
        response = hops.get(self.URL, headers={"Accept": "application/graphml+xml"})
        graph = ElementTree.fromstring(response.data).find(f"{_GRAPHML}graph")
        assert graph is not None
        names = {
            node.attrib["id"]: node.findtext(f"{_GRAPHML}data[@key='node-name']")
            for node in graph.iter(f"{_GRAPHML}node")
        }
        edges = [
            (names[edge.attrib["source"]], names[edge.attrib["target"]])
            for edge in graph.iter(f"{_GRAPHML}edge")
        ]
        assert edges == [("orders", 'bills/"new"'), ("raw", "orders")]

    def test_graphml_replaces_what_xml_cannot_represent(self, client: FlaskClient) -> None:
        names = [f"a{character}" for character in "\t\x1f\ufffd\ufffe\uffff\U0001fffe"]
        for number, name in enumerate(names):
            record_new(client, copying("raw", name, "UID", run={**RUN, "run": str(number)}))
        graph = ElementTree.fromstring(
            client.get(self.URL, headers={"Accept": "application/graphml+xml"}).data
        )
        shown = [item.text for item in graph.iterfind(f".//{_GRAPHML}data[@key='node-name']")]
        assert sorted(shown) == ["a\t", *4 * ["a\ufffd"], "a\U0001fffe", "raw"]

    def test_mermaid_escapes_what_would_end_a_label(self, hops: FlaskClient) -> None:
        text = hops.get(self.URL, headers={"Accept": "text/vnd.mermaid"}).text
        assert text.splitlines() == [
            "flowchart LR",
            '  n0["ns1/raw.UID"]',
            '  n1["ns1/orders.UID"]',
            '  n2["ns1/bills/#quot;new#quot;.UID"]',
            "  n1 --> n2",
            "  n0 --> n1",
        ]

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "image/png", "text/html, */*;q=0.1"])
    def test_anything_else_is_json(self, hops: FlaskClient, accept: str) -> None:
        response = hops.get(self.URL, headers={"Accept": accept})
        assert response.mimetype == "application/json"
        assert "Accept" in response.headers["Vary"]
