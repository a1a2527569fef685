"""Tags in the three reports: those of each listed field, in JSON and CSV, and of no hidden one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.keys import layout
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, Table, open_table
from tests.support.api_client import ALL, record_new, target
from tests.support.lineage_documents import RUN, Json, copying
from tests.support.tag_requests import put

HOUR_MS = 3_600_000
START_MS = 1_000_000_000_000
KINDS = ("consumption", "provenance", "retention")
READER = Principal("reader", (Grant(Role.READER, "ns1"),))


def copied(source: str, destination: str, number: int) -> Json:
    """A run that copies `f` from one dataset to another, so many hours after the first."""
    run = {**RUN, "run": f"r{number:03}", "startTime": START_MS + number * HOUR_MS}
    return copying(source, destination, "f", run=run)


def foreign(document: Json, end: str) -> Json:
    """A run whose source or destination is in the namespace `other`."""
    for operation in document["operations"]:
        if end in operation:
            operation[end]["namespace"] = "other"
    return document


def tag(client: FlaskClient, name: str, *tags: str, namespace: str = "ns1") -> None:
    for text in tags:
        answer = put(client, "v3", "namespaces", namespace, "endpoints", name, "fields", "f", "tags", text)
        assert answer.status_code in (200, 201)


def ask(client: FlaskClient, kind: str, name: str = "b", accept: str = "*/*", **query: Any) -> Any:
    """The answer of a report on `ns1/<name>.f`, or on the policy on it."""
    subject = (
        {"policy": "one"} if kind == "retention" else {"namespace": "ns1", "endpoint": name, "field": "f"}
    )
    principal = query.pop("principal", None)
    answer = client.get(
        target("v3", "reports", kind, **{**ALL, **subject, **query}),
        headers={"Accept": accept},
        environ_overrides={PRINCIPAL: principal} if principal else {},
    )
    assert answer.status_code == 200, answer.text
    return answer


def listed(body: Json) -> list[Json]:
    """The fields that a report lists."""
    parts = ("derived", "sources", "upstream", "fields", "complying")
    return [field for part in parts for field in body.get(part, ())]


def tags_by_name(body: Json) -> dict[str, list[str]]:
    """The tags of the fields of a report that have any, by dataset."""
    fields = [*listed(body), body["field"]]
    return {field["name"]: field["tags"] for field in fields if "tags" in field}


@pytest.fixture
def table() -> Iterator[Table]:
    table = open_table("sqlite:///:memory:")
    yield table
    table.close()


@pytest.fixture
def chain(table: Table) -> FlaskClient:
    """`f` goes from `other/e` to `a`, `b` and `c`, and to `other/d`; all but `c` have tags, `b` a policy."""
    client = create_app(LineageStore(table)).test_client()
    record_new(
        client,
        foreign(copied("e", "a", 0), "source"),
        copied("a", "b", 1),
        copied("b", "c", 2),
        foreign(copied("b", "d", 3), "destination"),
    )
    tag(client, "b", "secret", "PII")
    tag(client, "a", "contact")
    for name in ("d", "e"):
        tag(client, name, "vault", namespace="other")
    field = {"namespace": "ns1", "name": "b", "field": "f"}
    assert client.put("/v3/policies/one", json={"maxAge": "1d", "field": field}).status_code == 201
    return client


@pytest.mark.parametrize(
    ("kind", "others"),
    [("consumption", {"d": ["vault"]}), ("provenance", {"a": ["contact"], "e": ["vault"]})],
)
def test_each_listed_field_and_the_one_that_was_asked_for(
    chain: FlaskClient, kind: str, others: dict[str, list[str]]
) -> None:
    body = ask(chain, kind).json
    assert body["field"]["tags"] == ["PII", "secret"]
    assert tags_by_name(body) == {"b": ["PII", "secret"], **others}


def test_a_retention_report_of_a_field_and_of_a_tag(chain: FlaskClient) -> None:
    body = ask(chain, "retention").json
    assert tags_by_name(body) == {"b": ["PII", "secret"], "d": ["vault"]}
    assert all("tags" not in step for field in body["fields"] for step in field["path"])
    young = ask(chain, "retention", start="now-1h").json
    assert [field["name"] for field in young["complying"]] == ["b"]
    assert tags_by_name(young) == {"b": ["PII", "secret"]}
    assert chain.put("/v3/policies/pii", json={"maxAge": "1d", "tag": "PII"}).status_code == 201
    by_tag = ask(chain, "retention", policy="pii").json
    assert "field" not in by_tag
    assert [field.get("tags") for field in by_tag["fields"]] == [["PII", "secret"], None, ["vault"]]


def test_csv_has_them_in_its_last_column(chain: FlaskClient) -> None:
    for kind, expected in (
        ("consumption", [("c", ""), ("d", "vault")]),
        ("provenance", [("e", "vault")]),
        ("retention", [("b", "PII;secret"), ("c", ""), ("d", "vault")]),
    ):
        answer = ask(chain, kind, accept="text/csv")
        rows = csv.DictReader(io.StringIO(answer.text))
        assert rows.fieldnames is not None
        assert rows.fieldnames[-1] == "tags"
        assert sorted((row["name"], row["tags"]) for row in rows) == expected
    between = ask(chain, "provenance", "c", accept="text/csv", part="upstream").text
    assert [row["tags"] for row in csv.DictReader(io.StringIO(between))] == ["PII;secret", "contact"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("accept", ["application/json", "text/csv", "text/html"])
def test_who_may_not_see_a_field_sees_no_tag_of_it(chain: FlaskClient, kind: str, accept: str) -> None:
    assert "vault" in ask(chain, kind, accept=accept).text
    answer = ask(chain, kind, accept=accept, principal=READER)
    assert "vault" not in answer.text
    if accept == "application/json":
        assert answer.json["field"]["tags"] == ["PII", "secret"]
        hidden = [field for field in listed(answer.json) if "hidden" in field]
        # A retention report leaves hidden fields out.
        assert len(hidden) == (kind != "retention")
        assert all("tags" not in field for field in hidden)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_row_of_tags_is_left_out_and_named(chain: FlaskClient, table: Table, kind: str) -> None:
    field = DatasetField(Dataset("ns1", "b"), "f")
    table.write([[Put(layout.tags_row(field), layout.tag_column("PII"), b"\xffno tag")]])
    answer = ask(chain, kind)
    assert answer.json["truncatedBy"] == ["damaged"]
    assert answer.headers["Truncated-By"] == "damaged"
    assert "tags" not in answer.json["field"]
    assert listed(answer.json)


def test_later_pages_have_the_runs_alone(chain: FlaskClient) -> None:
    first = ask(chain, "consumption", limit=1)
    link = first.headers["Link"].split(">")[0].removeprefix("<")
    body: Any = chain.get(link).json
    assert body["field"] == {"namespace": "ns1", "name": "b", "field": "f"}


NAMES = st.sampled_from("abcde")
EDGES = st.tuples(NAMES, NAMES).filter(lambda edge: edge[0] != edge[1])


@pytest.mark.slow
@given(
    edges=st.lists(EDGES, min_size=1, max_size=6, unique=True),
    tags=st.dictionaries(NAMES, st.sets(st.sampled_from(["PII", "a;b", "é", "=1"]), min_size=1)),
)
def test_tags_are_those_of_the_list_of_each_field(
    edges: list[tuple[str, str]], tags: dict[str, set[str]]
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    for number, (source, destination) in enumerate(edges):
        record_new(client, copied(source, destination, number))
    recorded = {name for edge in edges for name in edge}
    for name in tags.keys() & recorded:
        tag(client, name, *sorted(tags[name]))
    for name in sorted(recorded):
        policy = {"maxAge": "1d", "field": {"namespace": "ns1", "name": name, "field": "f"}}
        client.put("/v3/policies/one", json=policy)
        for kind in KINDS:
            body = ask(client, kind, name).json
            expected = {
                field["name"]: sorted(tags[field["name"]])
                for field in [*listed(body), body["field"]]
                if tags.get(field["name"])
            }
            assert tags_by_name(body) == expected
    store.close()
