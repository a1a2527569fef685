"""Reach says what is in the order of the runs, in every format; reports only where they are not causal."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from api.app import create_app
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import ALL, get_json, path, record_new
from tests.support.late_runs import LATE_BACKWARD, LATE_FORWARD, late
from tests.support.lineage_documents import RUN, Json, copying

Pairs = set[tuple[str, str]]


@pytest.fixture
def history(client: FlaskClient) -> FlaskClient:
    record_new(client, *late())
    return client


def reach(client: FlaskClient, name: str, **query: object) -> Json:
    return get_json(client, "ns1", "endpoints", name, "fields", "UID", "reach", **{**ALL, **query})


def pairs(edges: list[Json], *, in_order: bool) -> Pairs:
    return {(edge["from"]["name"], edge["to"]["name"]) for edge in edges if edge["inOrder"] is in_order}


def late_names(items: list[Json]) -> set[str]:
    return {item["name"] for item in items if item.get("inOrder") is False}


class TestJson:
    def test_backward_an_upstream_run_that_started_later_is_not_in_order(self, history: FlaskClient) -> None:
        body = reach(history, "bills")
        assert pairs(body["edges"], in_order=False) == LATE_BACKWARD
        assert pairs(body["edges"], in_order=True) == {("orders", "bills"), ("names", "orders")}
        assert late_names(body["nodes"]) == {"raw", "landing"}
        assert all("inOrder" in node for node in body["nodes"])

    def test_forward_a_downstream_run_that_started_earlier_is_not_in_order(
        self, history: FlaskClient
    ) -> None:
        body = reach(history, "raw", direction="forward")
        assert pairs(body["edges"], in_order=False) == LATE_FORWARD
        assert pairs(body["edges"], in_order=True) == {("raw", "orders"), ("orders", "reports")}
        assert late_names(body["nodes"]) == {"bills"}

    def test_both_directions_have_each_their_order(self, history: FlaskClient) -> None:
        edges = reach(history, "orders", direction="both")["edges"]
        parts = {way: [edge for edge in edges if edge["direction"] == way] for way in ("backward", "forward")}
        # Any run that reads `orders` may end a walk that begins there, so each of its runs counts.
        assert pairs(parts["backward"], in_order=False) == {("landing", "raw")}
        assert pairs(parts["forward"], in_order=False) == set()

    @pytest.mark.parametrize("name", ["bills", "orders", "raw"])
    def test_causal_is_what_is_in_order(self, history: FlaskClient, name: str) -> None:
        for direction in ("backward", "forward"):
            plain = reach(history, name, direction=direction)
            causal = reach(history, name, direction=direction, causal="true")
            assert all(item["inOrder"] is True for item in causal["nodes"] + causal["edges"])
            assert pairs(causal["edges"], in_order=True) == pairs(plain["edges"], in_order=True)
            in_order = [node["name"] for node in plain["nodes"] if node["inOrder"]]
            assert [node["name"] for node in causal["nodes"]] == in_order

    def test_it_needs_no_counts(self, history: FlaskClient) -> None:
        edges = reach(history, "bills", counts="false")["edges"]
        assert pairs(edges, in_order=False) == LATE_BACKWARD
        assert not any("runs" in edge for edge in edges)

    def test_failed_runs_have_an_order_too(self, history: FlaskClient) -> None:
        edges = reach(history, "bills", failed="true")["edges"]
        assert pairs(edges, in_order=False) == {*LATE_BACKWARD, ("found", "names")}
        assert ("lost", "names") in pairs(edges, in_order=True)

    def test_one_run_in_order_is_enough(self, history: FlaskClient) -> None:
        again = copying("orders", "bills", "UID", run={**RUN, "run": "again", "startTime": 2_000_000_000_000})
        record_new(history, again)
        edges = reach(history, "bills")["edges"]
        assert pairs(edges, in_order=False) == {("landing", "raw")}
        (edge,) = (edge for edge in edges if edge["to"]["name"] == "bills")
        assert edge["runs"] == 2

    def test_the_runs_of_the_window_alone_count(self, history: FlaskClient) -> None:
        again = copying("orders", "bills", "UID", run={**RUN, "run": "again", "startTime": 2_000_000_000_000})
        record_new(history, again)
        assert pairs(reach(history, "bills", end="2000000000")["edges"], in_order=False) == LATE_BACKWARD

    def test_an_answer_that_a_limit_cut_says_it_of_what_it_has(self) -> None:
        settings = Settings(connections_max=3)
        with closing(LineageStore(open_table("sqlite:///:memory:"), settings)) as store:
            client = create_app(store).test_client()
            record_new(client, *late())
            body = reach(client, "bills")
        assert (len(body["edges"]), body["truncatedBy"]) == (3, ["connections_max=3"])
        assert pairs(body["edges"], in_order=False) == {("raw", "orders")}


def test_a_dataset_of_two_names_is_one() -> None:
    """`orders` is written under one name and read under another."""
    other = Dataset("ns1", "s3://orders")
    documents = late()
    for document in documents:
        for operation in document["operations"]:
            if operation.get("source") == {"name": "orders"}:
                operation["source"] = {"name": other.name}
    with closing(LineageStore(open_table("sqlite:///:memory:"))) as store:
        store.put_metadata([DatasetMetadata(Dataset("ns1", "orders"), aliases=(other,))])
        client = create_app(store).test_client()
        record_new(client, *documents)
        backward = reach(client, "bills")["edges"]
        forward = reach(client, "raw", direction="forward")["edges"]
    assert {source for source, _ in pairs(backward, in_order=False)} == {"raw", "landing"}
    assert {end for _, end in pairs(forward, in_order=False)} == {"bills"}


class TestFormats:
    BILLS = path("ns1", "endpoints", "bills", "fields", "UID", "reach", start=0)
    ORDERS = path("ns1", "endpoints", "orders", "fields", "UID", "reach", start=0, direction="both")

    def text(self, client: FlaskClient, url: str, accept: str) -> str:
        response = client.get(url, headers={"Accept": accept})
        assert response.mimetype == accept
        return response.text

    def test_csv_has_a_column_before_the_direction(self, history: FlaskClient) -> None:
        text = self.text(history, self.BILLS, "text/csv")
        assert text.partition("\r\n")[0].endswith(",lastStart,inOrder,direction")
        rows = list(csv.DictReader(io.StringIO(text)))
        listed = {(row["fromName"], row["toName"]): row["inOrder"] for row in rows}
        assert {pair for pair, in_order in listed.items() if in_order == "false"} == LATE_BACKWARD
        assert listed["orders", "bills"] == "true"

    def test_graphml_has_it_as_boolean_data_of_nodes_and_edges(self, history: FlaskClient) -> None:
        root = ElementTree.fromstring(self.text(history, self.BILLS, "application/graphml+xml"))
        for domain, expected in (("node", 2), ("edge", 2)):
            (key,) = root.iterfind(f".//*[@id='{domain}-inOrder']")
            assert key.attrib["attr.type"] == "boolean"
            values = [item.text for item in root.iterfind(f".//*[@key='{domain}-inOrder']")]
            assert (values.count("false"), set(values)) == (expected, {"true", "false"})

    def test_mermaid_says_it_of_fields_and_edges(self, history: FlaskClient) -> None:
        lines = self.text(history, self.BILLS, "text/vnd.mermaid").splitlines()
        assert '  n3["ns1/raw.UID (not in order)"]' in lines
        assert "  n3 -->|not in order| n1" in lines
        assert "  n1 --> n0" in lines

    def test_mermaid_draws_an_edge_of_both_directions_once(self, client: FlaskClient) -> None:
        """From `a` the circle is closed in order; back to `a` it is not."""
        record_new(
            client,
            copying("a", "b", "UID", run={**RUN, "run": "1"}),
            copying("b", "c", "UID", run={**RUN, "run": "2", "startTime": RUN["startTime"] + 1}),
            copying("c", "a", "UID", run={**RUN, "run": "3"}),
        )
        url = path("ns1", "endpoints", "a", "fields", "UID", "reach", start=0, direction="both")
        edges = reach(client, "a", direction="both")["edges"]
        orders = {
            (edge["from"]["name"], edge["direction"]): edge["inOrder"]
            for edge in edges
            if edge["from"]["name"] in "bc"
        }
        assert orders == {
            ("b", "backward"): False,
            ("b", "forward"): True,
            ("c", "backward"): True,
            ("c", "forward"): False,
        }
        lines = self.text(client, url, "text/vnd.mermaid").splitlines()
        assert sum("-->" in line for line in lines) == 3
        assert "not in order" not in "".join(lines)


class TestReports:
    def report(self, client: FlaskClient, kind: str, name: str, accept: str, **query: object) -> str:
        params = {**ALL, "namespace": "ns1", "endpoint": name, "field": "UID", **query}
        response = client.get(f"/v3/reports/{kind}", query_string=params, headers={"Accept": accept})
        assert (response.status_code, response.mimetype) == (200, accept)
        return response.text

    def test_fields_that_are_not_in_order_say_so_where_order_was_not_asked(
        self, history: FlaskClient
    ) -> None:
        params = {"namespace": "ns1", "endpoint": "bills", "field": "UID", **ALL}
        body = history.get("/v3/reports/provenance", query_string={**params, "causal": "false"}).json
        assert (late_names(body["sources"]), late_names(body["upstream"])) == ({"landing"}, {"raw"})
        in_order = {item["name"] for part in ("sources", "upstream") for item in body[part]}
        assert in_order - {"landing", "raw"} == {"names", "orders"}
        assert not any(item.get("inOrder") for part in ("sources", "upstream") for item in body[part])
        body = history.get(
            "/v3/reports/consumption", query_string={**params, "endpoint": "raw", "causal": "false"}
        ).json
        assert late_names(body["derived"]) == {"bills"}

    @pytest.mark.parametrize(
        ("kind", "name", "parts"),
        [("consumption", "raw", ["derived"]), ("provenance", "bills", ["sources", "upstream"])],
    )
    def test_reports_that_are_causal_do_not_mention_it(
        self, history: FlaskClient, kind: str, name: str, parts: list[str]
    ) -> None:
        for part in parts:
            assert "inOrder" not in self.report(history, kind, name, "text/csv", part=part)
        for accept in ("application/json", "text/html"):
            assert "inOrder" not in self.report(history, kind, name, accept)

    def test_csv_has_a_column(self, history: FlaskClient) -> None:
        text = self.report(history, "consumption", "raw", "text/csv", part="derived", causal="false")
        assert text.partition("\r\n")[0].endswith(",dropped,inOrder,path,operation,value")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["name"]: row["inOrder"] for row in rows} == {
            "orders": "",
            "bills": "false",
            "reports": "",
        }
        runs = self.report(history, "consumption", "raw", "text/csv", part="runs", causal="false")
        assert "inOrder" not in runs

    def test_the_page_marks_them(self, history: FlaskClient) -> None:
        page = self.report(history, "provenance", "bills", "text/html", causal="false")
        assert page.count("(not in the order of the runs)</td>") == 2
