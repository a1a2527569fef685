"""Names of datasets, fields and runs that clients spell differently, and that meet all the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from fll_hbase.model.dataset_spelling import DeclaredNames, FieldNames, namespace_key, without_quotes
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.sources.name_rules import parse_rules
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

UUID = "4D7422FD-CDB5-5F27-BCD4-1FFD18E26E6C"
WINDOW = "start=2026-01-01&end=2027-01-01"
Name = tuple[str, str]


def client_of(settings: Settings) -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield create_app(store, settings).test_client()
    store.close()


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    yield from client_of(Settings())


@pytest.fixture
def mapping_client() -> Iterator[FlaskClient]:
    yield from client_of(Settings(namespace_rules="^postgresql:// => postgres:// ;; ^x$ => y"))


def copy(day: int, run: str, source: Name, target: Name) -> dict[str, Any]:
    """Return an event of a job that copies the field `a`."""
    inputs = [{"namespace": source[0], "name": source[1], "field": "a"}]
    lineage = {"columnLineage": {"fields": {"a": {"inputFields": inputs}}}}
    return {
        "eventTime": f"2026-03-{day:02}T02:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": run},
        "job": {"namespace": "jobs", "name": run},
        "inputs": [{"namespace": source[0], "name": source[1]}],
        "outputs": [{"namespace": target[0], "name": target[1], "facets": lineage}],
    }


def send(client: FlaskClient, *events: dict[str, Any]) -> list[Any]:
    answers = [client.post("/api/v1/lineage", json=event) for event in events]
    assert [answer.status_code for answer in answers] == [201] * len(events)
    return [answer.json for answer in answers]


def sources(client: FlaskClient, namespace: str, name: str) -> set[Name]:
    """Return the datasets that lead to one over several runs."""
    path = f"/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage?direction=backward&level=5"
    answer = client.get(f"{path}&{WINDOW}")
    assert answer.status_code == 200, answer.text
    return {(entry["source"]["namespace"], entry["source"]["name"]) for entry in answer.json}


def test_hadoop_and_the_console_write_one_object(client: FlaskClient) -> None:
    send(
        client,
        copy(1, "w", ("x", "s"), ("s3a://bk", "/p/a11/")),
        copy(2, "r", ("s3://bk", "p/a11"), ("x", "t")),
    )
    assert sources(client, "x", "t") == {("s3://bk", "p/a11"), ("x", "s")}


def test_namespaces_are_mapped(mapping_client: FlaskClient) -> None:
    send(
        mapping_client,
        copy(1, "w", ("x", "s"), ("postgres://db:5432", "a.public.t")),
        copy(2, "r", ("postgresql://db:5432", "a.public.t"), ("x", "o")),
    )
    assert sources(mapping_client, "y", "o") == {("postgres://db:5432", "a.public.t"), ("y", "s")}


def test_a_rule_may_name_what_the_store_would_rename() -> None:
    rules = parse_rules("", "^s3:// => s3a://")
    assert rules.apply_to_namespace("s3://b") == "s3a://b"
    assert rules.apply("s3://b") == "s3://b"


def test_a_wrong_rule_names_its_setting() -> None:
    with pytest.raises(ConfigurationError, match=r"FLL_NAMESPACE_RULES: name rule '\('"):
        parse_rules("", "(")


@pytest.mark.parametrize("given", [UUID, UUID.lower()])
def test_a_run_is_found_by_its_id_in_any_case(client: FlaskClient, given: str) -> None:
    start = copy(1, UUID, ("x", "s"), ("x", "t")) | {"eventType": "START"}
    end = copy(2, UUID.lower(), ("x", "s"), ("x", "t"))
    assert {answer["run"] for answer in send(client, start, end)} == {UUID.lower()}
    answer = client.get(f"/v3/runs/{given}").json
    assert (answer["run"], answer["state"], len(answer["events"])) == (UUID.lower(), "COMPLETE", 2)


def test_other_ids_keep_their_case(client: FlaskClient) -> None:
    assert send(client, copy(1, "Nightly-A", ("x", "s"), ("x", "t")))[0]["run"] == "Nightly-A"
    assert client.get("/v3/runs/nightly-a").status_code == 404


@pytest.mark.parametrize(
    ("given_name", "plain"),
    [
        ('"a"."b"', "a.b"),
        ('POC."b".C', "POC.b.C"),
        ("`p`.d.`t`", "p.d.t"),
        ('"a.b"."c"', '"a.b"."c"'),
        ('half"', 'half"'),
        ("plain.name", "plain.name"),
        ('""', '""'),
    ],
)
def test_quotes_around_parts_are_no_part_of_a_name(given_name: str, plain: str) -> None:
    assert without_quotes(given_name) == plain


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("postgresql://Db", "postgres://db:5432"),
        ("jdbc:postgresql://db:5432", "postgres://me@db:5432"),
        ("s3n://b/", "s3://b"),
        ("gcs://b", "gs://b"),
        ("abfs://raw@account.net", "abfss://raw@Account.net/"),
        ("file:///", "file"),
    ],
)
def test_spellings_of_a_namespace(left: str, right: str) -> None:
    assert namespace_key(left) == namespace_key(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("s3://b", "gs://b"),
        ("postgres://db:1", "postgres://db"),
        ("abfss://raw@account.net", "abfss://hr@account.net"),
        ("a", "b"),
        ("x", "X:1"),
    ],
)
def test_namespaces_that_are_others(left: str, right: str) -> None:
    assert namespace_key(left) != namespace_key(right)


def test_an_export_keeps_the_names_of_its_store(client: FlaskClient, mapping_client: FlaskClient) -> None:
    body = {
        "run": {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1_772_000_000_000},
        "operations": [
            {
                "type": "READ",
                "name": "r",
                "source": {"namespace": "s3a://b", "name": "/x/"},
                "outputs": ['"A"'],
            },
            {"type": "READ", "name": "u", "source": {"namespace": "x", "name": "u"}, "outputs": []},
            {
                "type": "WRITE",
                "name": "w",
                "destination": {"namespace": "snowflake://o", "name": '"q"."t"'},
                "inputs": [{"origin": "r", "name": '"A"'}],
            },
            {
                "type": "WRITE",
                "name": "v",
                "destination": {"namespace": "x", "name": "v"},
                "inputs": [],
                "unknownOrigins": ["u"],
            },
        ],
    }
    assert client.post("/v3/namespaces/x/lineage", json=body).status_code == 201
    exported = client.get(f"/v3/openlineage?{WINDOW}").json
    send(mapping_client, *exported)
    for path in (
        "/v3/namespaces",
        "/v3/namespaces/s3a:%2F%2Fb/endpoints",
        "/v3/namespaces/snowflake:%2F%2Fo/endpoints/%22q%22.%22t%22/fields",
        f"/v3/namespaces/x/endpoints/v/fields/lineage?direction=backward&{WINDOW}",
        f"/v3/namespaces/x/endpoints/u/fields/lineage?direction=forward&{WINDOW}",
        "/v3/runs/r",
    ):
        answers = [store.get(path) for store in (client, mapping_client)]
        assert [answer.status_code for answer in answers] == [200, 200], path
        operations = [answer.json for answer in answers]
        if path == "/v3/runs/r":
            operations = [answer["operations"] for answer in operations]
        assert operations[0] == operations[1]


PARTS = st.sampled_from(["a", "b", "k=1"])
NAMES = st.one_of(
    st.lists(PARTS, min_size=1, max_size=3).map("/".join),
    st.lists(PARTS, min_size=1, max_size=3).map(".".join),
)


@given(st.sets(NAMES, min_size=1, max_size=4), NAMES, st.randoms(use_true_random=False))
def test_the_order_of_inputs_does_not_matter(names: set[str], given: str, order: random.Random) -> None:
    actual = set()
    for _ in range(3):
        declared = DeclaredNames()
        for name in order.sample(sorted(names), len(names)):
            declared.add(("n", name))
        actual.add(declared.find(("n", given)))
    assert len(actual) == 1
    assert actual <= {None, *(("n", name) for name in names)}
    assert given not in names or actual == {("n", given)}


@given(
    st.sets(st.text("aAbB/.", min_size=1, max_size=4), max_size=5), st.text("aAbB/.", min_size=1, max_size=4)
)
def test_a_field_is_never_made_up(fields: set[str], given: str) -> None:
    actual = FieldNames(fields).find(given)
    assert actual in {given, *fields}
    assert actual.casefold().replace("/", ".") == given.casefold().replace("/", ".")
    assert given not in fields or actual == given


@pytest.mark.parametrize(
    ("namespace", "declared", "other"),
    [
        ("kafka://broker:9092", "clicks", "shop.clicks"),
        ("kafka://broker:9092", "shop.clicks", "clicks"),
        ("kafka://broker:9092", "Clicks", "clicks"),
        ("s3://b", "parquet", "x.parquet"),
        ("s3://b", "Data", "data"),
    ],
)
def test_a_topic_or_file_is_no_table_of_a_database(namespace: str, declared: str, other: str) -> None:
    names = DeclaredNames()
    names.add((namespace, declared))
    assert names.find((namespace, other)) is None
    assert names.find((f"{namespace}/", declared)) == (namespace, declared)
