"""The retention report: data of a policy's fields, or derived from it, that is too old."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.queries import retention
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeClient
from tests.support.api_client import assert_problem, errors_by_path, record_new, target
from tests.support.lineage_documents import Json, copying, input_fields, reading, run, transforming, writing
from tests.support.plain_events import plain_event
from tests.support.tag_requests import put

DAY_MS = 86_400_000


def copied(source: str, destination: str, *, days: int, program: str = "nightly", **more: Any) -> Json:
    """A run that copied the field f so many days ago."""
    name = f"{source}>{destination} {days} days ago {program}"
    start_ms = now_ms() - days * DAY_MS
    return copying(source, destination, "f", run=run(name, start_ms=start_ms, program=program, **more))


def tag(client: FlaskClient, name: str, field: str = "f", tag: str = "PII") -> None:
    put(client, "v3", "namespaces", "ns1", "endpoints", name, "fields", field, "tags", tag)


def put_policy(client: FlaskClient, **body: Any) -> None:
    url = "/v3/policies/gdpr?allowUnknown=true"
    assert client.put(url, json={"maxAge": "90d", **body}).status_code in (200, 201)


def report(client: FlaskClient, **query: Any) -> Any:
    answer = client.get(target("v3", "reports", "retention", policy="gdpr", **query))
    assert answer.status_code == 200, answer.text
    return answer.json


def by_dataset(body: Json) -> dict[str, Json]:
    assert [item["name"] for item in body["fields"]] == sorted({item["name"] for item in body["fields"]})
    return {item["name"]: item for item in body["fields"]}


@pytest.fixture
def chain(client: FlaskClient) -> FlaskClient:
    """`a` was copied to `b` 100 and 10 days ago, `b` to `c` 95 days ago by two programs, `c` to `d` today."""
    record_new(
        client,
        copied("a", "b", days=100),
        copied("a", "b", days=10),
        copied("b", "c", days=95),
        copied("b", "c", days=99, program="hourly"),
        copied("c", "d", days=0),
        copied("x", "c", days=98, program="other"),
    )
    tag(client, "a")
    put_policy(client, tag="PII")
    return client


def test_every_derived_field_with_its_path_and_programs(chain: FlaskClient) -> None:
    body = report(chain)
    expired = by_dataset(body)
    assert sorted(expired) == ["b", "c"]
    assert [step["name"] for step in expired["c"]["path"]] == ["a", "b", "c"]
    assert expired["b"]["runs"] == 1
    assert expired["b"]["oldestRun"] == "a>b 100 days ago nightly"
    assert expired["c"]["runs"] == 2
    assert expired["c"]["oldestRun"] == "b>c 99 days ago hourly"
    assert expired["c"]["newestRun"] == "b>c 95 days ago nightly"
    assert [program["program"] for program in expired["c"]["programs"]] == ["hourly", "nightly"]
    assert (body["truncated"], body["policy"]["name"]) == (False, "gdpr")
    assert body["window"]["start"] == 0
    assert 0 <= now_ms() - 90 * DAY_MS - body["window"]["end"] < 60_000


def test_the_field_of_a_policy_itself_and_a_policy_of_one_field(chain: FlaskClient) -> None:
    put_policy(chain, field={"namespace": "ns1", "name": "c", "field": "f"})
    fields = by_dataset(report(chain, namespace="ns1"))
    assert sorted(fields) == ["c"]
    # Every run that wrote it, whatever it was made from.
    assert (fields["c"]["runs"], len(fields["c"]["path"])) == (3, 1)


def test_the_window_and_the_age_bound_the_runs(chain: FlaskClient) -> None:
    assert sorted(by_dataset(report(chain, start="now-97d"))) == []
    assert sorted(by_dataset(report(chain, end="now-99d-1h"))) == ["b"]
    assert report(chain, start="now-1d")["fields"] == []
    put_policy(chain, tag="PII", maxAge="5d")
    assert by_dataset(report(chain))["b"]["runs"] == 2
    put_policy(chain, tag="PII", maxAge="999999999w")
    assert report(chain)["fields"] == []


def test_failed_runs_and_indirect_dependencies_count_when_they_are_included(client: FlaskClient) -> None:
    filtered: Json = {
        "run": run("filter", start_ms=now_ms() - 100 * DAY_MS),
        "operations": [
            reading("read", "a", "f", "g"),
            transforming(
                "filter", [*input_fields("read", "g"), *input_fields("read", "f", influence="indirect")], "g"
            ),
            writing("write", "b", *input_fields("filter", "g")),
        ],
    }
    record_new(client, filtered, copied("a", "e", days=100, state="FAIL"))
    tag(client, "a")
    put_policy(client, tag="PII")
    assert report(client)["fields"] == []
    assert sorted(by_dataset(report(client, failed="true"))) == ["e"]
    assert by_dataset(report(client, indirect="true"))["b"]["field"] == "g"


def test_csv_has_a_line_for_each_field_and_program(chain: FlaskClient) -> None:
    url = target("v3", "reports", "retention", policy="gdpr")
    answer = chain.get(url, headers={"Accept": "text/csv"})
    assert answer.mimetype == "text/csv"
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(line["name"], line["program"], line["hops"]) for line in lines] == [
        ("b", "nightly", "1"),
        ("c", "hourly", "2"),
        ("c", "nightly", "2"),
    ]
    assert (lines[1]["sourceName"], lines[1]["oldestRun"]) == ("a", "b>c 99 days ago hourly")


def test_what_was_requested_to_be_deleted_is_not_known(chain: FlaskClient) -> None:
    before_ms = now_ms() - 98 * DAY_MS
    assert chain.delete(f"/v3/namespaces/ns1/endpoints/c?before={before_ms / 1000:.3f}").status_code == 202
    body = report(chain)
    assert body["retainedFrom"] == before_ms
    # The run 99 days ago is gone; the one 95 days ago is still reported.
    assert by_dataset(body)["c"]["oldestRun"] == "b>c 95 days ago nightly"


def test_wrong_questions(chain: FlaskClient) -> None:
    assert_problem(chain.get("/v3/reports/retention?policy=missing"), 404)
    assert list(errors_by_path(chain.get("/v3/reports/retention"))) == ["policy"]
    assert list(errors_by_path(chain.get("/v3/reports/retention?policy=gdpr&start=now&end=0"))) == ["start"]
    assert_problem(chain.get("/v3/reports/retention?policy="), 400)


NAMES = st.sampled_from("abcde")
EDGES = st.tuples(NAMES, NAMES, st.integers(0, 6)).filter(lambda edge: edge[0] != edge[1])


@pytest.mark.slow
@given(st.sets(EDGES, min_size=1, max_size=10), st.sets(NAMES, min_size=1, max_size=2))
def test_the_report_is_that_of_a_search_over_old_runs(
    edges: set[tuple[str, str, int]], tagged: set[str]
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    record_new(client, *(copied(source, to, days=days) for source, to, days in sorted(edges)))
    tagged &= {name for source, to, _ in edges for name in (source, to)}
    for name in tagged:
        tag(client, name)
    put_policy(client, tag="PII", maxAge="3d")
    old = {(source, to, days) for source, to, days in edges if days >= 3}
    reached = set(tagged)
    while more := {to for source, to, _ in old if source in reached} - reached:
        reached |= more
    expected = {}
    for name in reached:
        runs = [edge for edge in old if edge[1] == name and (name in tagged or edge[0] in reached)]
        if runs:
            expected[name] = len(runs)
    assert {name: item["runs"] for name, item in by_dataset(report(client)).items()} == expected
    store.close()


def test_fields_without_older_runs_comply(chain: FlaskClient) -> None:
    body = report(chain)
    assert [item["name"] for item in body["complying"]] == ["a", "d"]
    assert body["verdict"].startswith("Not kept: 2 of 4 fields were written more than 90d ago, the oldest")
    young = report(chain, start="now-30d")
    assert young["verdict"].startswith("Not checked: ")


@pytest.mark.parametrize(
    ("documents", "verdict"),
    [
        ([], "Kept: no run of the window more than 90d ago wrote any of 2 fields."),
        (
            ["vault"],
            "Not known: no run more than 90d ago wrote any of 2 fields, but of 1 dataset it is not known",
        ),
    ],
    ids=["known", "unknown"],
)
def test_a_policy_is_kept_only_if_that_is_known(
    client: FlaskClient, documents: list[str], verdict: str
) -> None:
    record_new(client, copied("a", "b", days=10))
    for name in documents:
        operations = [reading("read", "a", "f"), writing("write", name)]
        record_new(client, {"run": run(name, start_ms=now_ms() - DAY_MS), "operations": operations})
    tag(client, "a")
    put_policy(client, tag="PII")
    body = report(client)
    assert body["verdict"].startswith(verdict)
    assert [item["destination"]["name"] for item in body["unknown"]] == documents


def test_a_kept_policy_says_since_when_runs_are_recorded(client: FlaskClient) -> None:
    record_new(client, copied("a", "b", days=10))
    tag(client, "a")
    put_policy(client, tag="PII")
    young = report(client)
    first_ms = now_ms() - 10 * DAY_MS
    assert abs(young["recordedFrom"] - first_ms) < DAY_MS
    assert "Runs of all 2 datasets are recorded since " in young["verdict"]
    assert young["verdict"].endswith(", after the cut-off: older data may exist without a recorded run.")
    record_new(client, copied("a", "x", days=100), copied("y", "b", days=101))
    old = report(client, start="now-95d")
    assert old["verdict"].startswith("Kept: ")
    assert old["verdict"].endswith(" UTC.")
    query = {"policy": "gdpr", "start": "now-95d"}
    page = client.get(target("v3", "reports", "retention", **query), headers={"Accept": "text/html"})
    assert "<dt>Recorded since</dt>" in page.text
    assert "recordedFrom" not in report(client)


def test_a_policy_on_a_dataset_without_runs(client: FlaskClient) -> None:
    put_policy(client, field={"namespace": "ns1", "name": "later", "field": "f"})
    assert report(client)["verdict"].endswith(" 1 of 1 dataset has no recorded run.")


def test_an_older_run_that_reports_no_columns_may_have_written_a_field(client: FlaskClient) -> None:
    record_new(client, copied("a", "b", days=10))
    event = plain_event("fill", 0, day="2015-09-22", outputs=["a"])
    assert client.post("/api/v1/lineage", json=event).status_code == 201
    tag(client, "a")
    put_policy(client, tag="PII")
    assert report(client)["verdict"] == (
        "Not known: no run more than 90d ago is known to have written any of 2 fields, but older runs wrote"
        " the datasets of 1 of them without reporting all columns."
    )


def test_the_fields_whose_writers_are_looked_up_are_bounded(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "POLICY_FIELDS_MAX", 1)
    record_new(client, copied("a", "b", days=10))
    tag(client, "a")
    tag(client, "b")
    put_policy(client, tag="PII")
    assert report(client)["truncatedBy"] == ["policy_fields_max=1"]


def test_nothing_hidden_complies(client: FlaskClient) -> None:
    hidden = {"namespace": "secret", "name": "b"}
    record_new(client, copied("a", "c", days=10))
    record_new(client, copying("a", hidden, "f", run=run("hide", start_ms=now_ms() - 100 * DAY_MS)))
    tag(client, "a")
    put_policy(client, tag="PII")
    reader = Principal("reader", (Grant(Role.READER, "ns1"),))
    answer = client.get(
        target("v3", "reports", "retention", policy="gdpr"), environ_overrides={PRINCIPAL: reader}
    )
    assert [item.get("name") for item in answer.json["complying"]] == ["a", "c"]
    assert answer.json["truncatedBy"] == ["hidden"]
    assert not answer.json["verdict"].startswith("Kept")
    assert "secret" not in answer.text


def test_a_page_to_print(chain: FlaskClient) -> None:
    answer = chain.get(target("v3", "reports", "retention", policy="gdpr"), headers={"Accept": "text/html"})
    assert answer.mimetype == "text/html"
    for text in (
        "Retention by policy gdpr",
        "<dd>fields with the tag PII</dd>",
        "<td>ns1/b.f</td><td>ns1/a.f</td><td>directly</td>",
    ):
        assert text in answer.text
    assert "not complete" not in answer.text


def test_programs_are_bounded_and_the_answer_says_so(make_client: MakeClient) -> None:
    client = make_client(Settings(connections_max=3))
    copies = [copied("a", name, days=100, program=str(number)) for name in "bc" for number in range(2)]
    record_new(client, *copies)
    tag(client, "a")
    put_policy(client, tag="PII")
    body = report(client)
    assert [len(item["programs"]) for item in body["fields"]] == [2]
    assert body["truncatedBy"] == ["connections_max=3"]
    # Of what was cut it is not known that no older run wrote it.
    assert body["complying"] == []
    page = client.get(target("v3", "reports", "retention", policy="gdpr"), headers={"Accept": "text/html"})
    assert "connections_max=3" in page.text
    assert page.headers["Truncated-By"] == "connections_max=3"
