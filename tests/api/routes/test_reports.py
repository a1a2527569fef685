"""Reports about a field: their fields are those of reach, their programs and runs those of the lists."""

from __future__ import annotations

import csv
import io
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeClient
from tests.support.api_client import ALL, assert_problem, error_paths, get_json, path, record_new
from tests.support.lineage_documents import RUN, Json, copying
from tests.support.plain_events import plain_event

SUBJECT = {"namespace": "ns1", "endpoint": "raw", "field": "UID"}
HOUR_MS = 3_600_000


def run(number: int, **more: Any) -> Json:
    return {**RUN, "run": f"r{number:03}", "startTime": RUN["startTime"] + number * HOUR_MS, **more}


def report(client: FlaskClient, kind: str, **params: object) -> Json:
    response = client.get(f"/v3/reports/{kind}", query_string={**ALL, **SUBJECT, **params})
    assert response.status_code == 200, response.text
    return response.get_json()


def hashing(source: str, destination: str, *fields: str, run: Json) -> Json:
    """A document that hashes the fields between reading and writing them."""
    document = copying(source, destination, *fields, run=run)
    read, write = document["operations"]
    outputs = [item["name"] for item in write["inputs"]]
    hash_them = {
        "name": "hash",
        "type": "TRANSFORM",
        "description": "sha256 of UID, with\na salt",
        "inputs": write["inputs"],
        "outputs": outputs,
    }
    inputs = [{"origin": "hash", "name": name} for name in outputs]
    return {**document, "operations": [read, hash_them, {**write, "inputs": inputs}]}


def names(fields: list[Json]) -> list[str]:
    return [f"{field['name']}.{field['field']}" for field in fields]


@pytest.fixture
def uid(client: FlaskClient) -> FlaskClient:
    """`UID` goes to `orders` and from there to `bills`; a later program failed to copy it."""
    record_new(
        client,
        copying("raw", "orders", "UID", run=run(0, program="load")),
        copying("orders", "bills", "UID", run=run(1, program="bill")),
        copying("raw", "lost", "UID", run=run(2, program="lose", state="FAIL")),
    )
    return client


class TestConsumption:
    def test_programs_runs_and_derived_fields(self, uid: FlaskClient) -> None:
        body = report(uid, "consumption")
        assert [item["program"] for item in body["programs"]] == ["load", "lose"]
        lose = body["programs"][1]
        assert (lose["runs"], lose["failed"], lose["failedOnly"], lose["lastRun"]) == (0, 1, True, "r002")
        assert body["failedOnly"] == 1
        assert [item["run"] for item in body["runs"]] == ["r002", "r000"]
        assert names(body["derived"]) == ["orders.UID", "bills.UID"]
        assert names(body["derived"][1]["path"]) == ["raw.UID", "orders.UID", "bills.UID"]
        assert body["derived"][1]["lastRun"] == "r001"
        assert body["truncated"] is False

    def test_pages_have_every_run_once(self, uid: FlaskClient) -> None:
        response = uid.get("/v3/reports/consumption", query_string={**ALL, **SUBJECT, "limit": 1})
        assert response.get_json()["moreRuns"] is True
        link = response.headers["Link"].split(">")[0].removeprefix("<")
        body = uid.get(link).get_json()
        assert [item["run"] for item in body["runs"]] == ["r000"]
        assert body["moreRuns"] is False
        assert "derived" not in body

    def test_causal_is_the_default(self, client: FlaskClient) -> None:
        record_new(
            client,
            copying("orders", "bills", "UID", run=run(0)),
            copying("raw", "orders", "UID", run=run(1)),
        )
        assert names(report(client, "consumption")["derived"]) == ["orders.UID"]
        late = names(report(client, "consumption", causal="false")["derived"])
        assert late == ["orders.UID", "bills.UID"]


class TestProvenance:
    def test_sources_operations_and_stretches(self, uid: FlaskClient) -> None:
        body = report(uid, "provenance", endpoint="bills")
        assert names(body["sources"]) == ["raw.UID"]
        assert names(body["upstream"]) == ["orders.UID"]
        assert [item["name"] for item in body["derivations"][0]["operations"]] == ["read", "write"]
        assert [node["label"] for node in body["detailed"]["nodes"]] == ["UID"]
        assert body["simple"]["checksums"] == body["detailed"]["checksums"]
        assert [item["runs"] for item in body["stretches"]] == [1]


event = partial(plain_event, day="2015-09-22")


class TestUnknownColumns:
    """Programs whose runs used the dataset, and do not report whether they used the field."""

    RAW = ("raw",)

    def record(self, client: FlaskClient, *events: Json) -> None:
        for item in events:
            assert client.post("/api/v1/lineage", json=item).status_code == 201

    def test_readers_are_in_all_parts_of_the_report(self, uid: FlaskClient) -> None:
        self.record(uid, event("peek", 1, inputs=self.RAW), event("peek2", 2, inputs=self.RAW))
        body = report(uid, "consumption")
        assert [item["program"] for item in body["programs"]] == ["load", "lose"]
        assert [item["program"] for item in body["programsWithUnknownColumns"]] == ["peek2", "peek"]
        assert (
            "2 programs may have read it: 2 runs read the dataset without reporting all columns."
            in body["verdict"]
        )
        sheet = self.text(uid, "consumption", "text/csv", part="programs")
        rows = list(csv.DictReader(io.StringIO(sheet)))
        assert [(row["program"], row["columns"]) for row in rows] == [
            ("load", ""),
            ("lose", ""),
            ("peek2", "unknown"),
            ("peek", "unknown"),
        ]
        assert "Programs that may have read it: 2" in self.text(uid, "consumption", "text/html")

    def test_a_report_without_a_known_reader_does_not_say_that_no_run_read_it(
        self, client: FlaskClient
    ) -> None:
        record_new(client, copying("older", "raw", "UID", run=run(0)))
        assert report(client, "consumption")["verdict"] == "No run of the window is known to have read it."
        self.record(client, event("peek", 1, inputs=self.RAW))
        assert report(client, "consumption")["verdict"] == (
            "No run of the window is known to have read it. 1 program may have read it: 1 run read the"
            " dataset without reporting all columns."
        )
        assert "programsWithUnknownColumns" not in report(client, "provenance")

    def test_a_reader_that_writes_another_dataset_is_named_too(self, uid: FlaskClient) -> None:
        self.record(uid, event("export", 1, inputs=self.RAW, outputs=["file"]))
        body = report(uid, "consumption")
        assert [item["program"] for item in body["programsWithUnknownColumns"]] == ["export"]
        assert [item["destination"]["name"] for item in body["unknown"]] == ["file"]

    def test_writers_without_columns_or_inputs(self, uid: FlaskClient) -> None:
        self.record(uid, event("fill", 1, outputs=self.RAW))
        body = report(uid, "provenance")
        assert body["verdict"] == (
            "No run of the window is known to have written it. 1 program may have written it: 1 run wrote the"
            " dataset without reporting all columns."
        )
        assert "Programs that may have written it: 1" in self.text(uid, "provenance", "text/html")

    @staticmethod
    def text(client: FlaskClient, kind: str, media_type: str, **params: object) -> str:
        query = {**ALL, **SUBJECT, **params}
        return client.get(f"/v3/reports/{kind}", query_string=query, headers={"Accept": media_type}).text


class TestHow:
    """How a field was made: in the words of its operations, all distinct ways, a copy never hidden."""

    def operations(
        self, client: FlaskClient, kind: str = "consumption", **params: object
    ) -> list[str | None]:
        body = report(client, kind, **params)
        return [field.get("operation") for field in body["derived" if kind == "consumption" else "sources"]]

    def test_a_hash_is_not_a_copy(self, client: FlaskClient) -> None:
        record_new(client, hashing("raw", "orders", "UID", run=run(0)))
        assert self.operations(client) == ["sha256 of UID, with a salt"]
        assert self.operations(client, "provenance", endpoint="orders", field="UID") == [
            "sha256 of UID, with a salt"
        ]

    def test_all_ways_are_named_the_newest_first(self, client: FlaskClient) -> None:
        record_new(
            client,
            copying("raw", "orders", "UID", run=run(0)),
            hashing("raw", "orders", "UID", run=run(1)),
        )
        assert self.operations(client) == ["sha256 of UID, with a salt | copied"]

    def test_what_failed_runs_did_is_not_how_it_was_made(self, client: FlaskClient) -> None:
        record_new(
            client,
            hashing("raw", "orders", "UID", run=run(0)),
            copying("raw", "orders", "UID", run=run(1, state="FAIL")),
        )
        assert self.operations(client) == ["sha256 of UID, with a salt"]
        assert self.operations(client, failed="true") == ["copied | sha256 of UID, with a salt"]

    def test_a_long_text_is_cut(self, client: FlaskClient) -> None:
        document = hashing("raw", "orders", "UID", run=run(0))
        document["operations"][1]["description"] = "x" * 10_000
        record_new(client, document)
        assert self.operations(client) == ["x" * 299 + "…"]


class TestValue:
    """Over all paths: a raw copy beside a hash is never taken for one."""

    def values(self, client: FlaskClient, **params: object) -> dict[str, str | None]:
        derived = report(client, "consumption", **params)["derived"]
        return {f"{field['name']}.{field['field']}": field.get("value") for field in derived}

    def test_copies_hashes_and_both(self, client: FlaskClient) -> None:
        record_new(
            client,
            copying("raw", "orders", "UID", run=run(0)),
            hashing("orders", "hashes", "UID", run=run(1)),
            # On a longer path than that by `hashes`.
            copying("orders", "bills", "UID", run=run(2)),
            copying("bills", "exports", "UID", run=run(3)),
            copying("hashes", "exports", "UID", run=run(4)),
        )
        expected = {
            "orders.UID": "copied",
            "bills.UID": "copied",
            "hashes.UID": "operations",
            "exports.UID": "mixed",
        }
        assert self.values(client) == expected
        upstream = report(client, "provenance", endpoint="exports")["sources"]
        assert [field["value"] for field in upstream] == ["mixed"]
        verdict = report(client, "consumption")["verdict"]
        assert "4 fields are made of its value (3 of them copies)" in verdict

    def test_an_earlier_content_counts(self, client: FlaskClient) -> None:
        record_new(
            client,
            copying("raw", "orders", "UID", run=run(0)),
            hashing("raw", "orders", "UID", run=run(1)),
        )
        assert self.values(client) == {"orders.UID": "mixed"}

    def test_more_contents_than_are_read_are_not_known(self, client: FlaskClient) -> None:
        for number in range(11):
            document = hashing("raw", "orders", "UID", run=run(number))
            document["operations"][1]["description"] = f"hash {number}"
            record_new(client, document)
        assert self.values(client) == {"orders.UID": None}

    def test_behind_a_limit_nothing_but_a_copy_is_certain(self) -> None:
        table = open_table("sqlite:///:memory:")
        store = LineageStore(table, Settings(level_max=1))
        client = create_app(store, Settings(level_max=1)).test_client()
        record_new(
            client,
            copying("raw", "orders", "UID", run=run(0)),
            hashing("raw", "hashes", "UID", run=run(1)),
            copying("orders", "hashes", "UID", run=run(2)),
        )
        assert self.values(client) == {"orders.UID": "mixed", "hashes.UID": None}
        store.close()

    def test_an_indirect_field_has_none(self, client: FlaskClient) -> None:
        document = hashing("raw", "orders", "UID", run=run(0))
        document["operations"][1]["inputs"][0]["influence"] = "indirect"
        record_new(client, document)
        assert self.values(client) == {"orders.UID": None}


class TestVerdict:
    def test_programs_that_only_failed_are_counted_apart(self, uid: FlaskClient) -> None:
        assert report(uid, "consumption")["verdict"] == (
            "2 programs read it (1 only failed), in 1 run, and in 1 failed run."
            " 2 fields are made of its value (2 of them copies), 0 only shaped by it."
            " 1 field that failed runs alone made is left out."
        )
        verdict = report(uid, "provenance", endpoint="bills")["verdict"]
        assert verdict == "The field has 1 true source in ns1/raw. The field was made in 1 way, by 1 run."
        assert (
            report(uid, "consumption", endpoint="bills")["verdict"]
            == "No run of the window is known to have read it."
        )

    def test_fields_of_failed_runs_alone_are_counted(self, uid: FlaskClient) -> None:
        lost = report(uid, "provenance", endpoint="lost")
        assert lost["verdict"] == "Only failed runs wrote it: 1 run, which is left out."
        record_new(uid, copying("bills", "late", "UID", run=run(3, state="FAIL")))
        assert "2 fields that failed runs alone made are left out." in report(uid, "consumption")["verdict"]
        assert "left out" not in report(uid, "consumption", failed="true")["verdict"]

    def test_behind_a_limit_their_number_is_not_known(self, make_client: MakeClient) -> None:
        client = make_client(Settings(connections_max=1))
        record_new(client, *(copying("raw", name, "UID", run=run(0, run=name)) for name in "abc"))
        verdict = report(client, "consumption")["verdict"]
        assert verdict.endswith("Fields that failed runs alone made, if there are any, are left out.")

    def test_a_generated_field_has_no_source(self, client: FlaskClient) -> None:
        document = hashing("raw", "orders", "UID", run=run(0))
        document["operations"][1]["inputs"] = []
        record_new(client, document)
        verdict = report(client, "provenance", endpoint="orders")["verdict"]
        assert (
            verdict
            == "The field has no source: operations generate it. The field was made in 1 way, by 1 run."
        )


class TestChanges:
    def test_a_change_names_what_differs_and_no_more_than_twenty(self, client: FlaskClient) -> None:
        fields = [f"f{number:02}" for number in range(30)]
        for number, inputs in enumerate((fields[:2], fields)):
            document = hashing("raw", "orders", *fields, run=run(number))
            # One output of some inputs: what they are is the change.
            document["operations"][1]["inputs"] = [{"origin": "read", "name": name} for name in inputs]
            record_new(client, document)
        params = {**ALL, **SUBJECT, "endpoint": "orders", "field": "f00"}
        response = client.get("/v3/reports/provenance", query_string=params, headers={"Accept": "text/html"})
        assert f"changed: hash (+ {', '.join(fields[2:22])}, and 8 more)." in response.text


class TestForms:
    def test_csv_of_each_part(self, uid: FlaskClient) -> None:
        for part, expected in (("derived", 2), ("programs", 2), ("days", 2), ("runs", 2)):
            response = uid.get(
                "/v3/reports/consumption",
                query_string={**ALL, **SUBJECT, "part": part},
                headers={"Accept": "text/csv"},
            )
            assert response.mimetype == "text/csv"
            assert len(list(csv.DictReader(io.StringIO(response.text)))) == expected

    @pytest.mark.parametrize("kind", ["consumption", "provenance"])
    def test_the_page_is_complete_and_loads_nothing(self, client: FlaskClient, kind: str) -> None:
        name = "<script>alert('&\"')</script>"
        record_new(client, copying("raw", name, "UID", run=run(0)))
        params = {**ALL, **SUBJECT, "endpoint": "raw" if kind == "consumption" else name}
        response = client.get(f"/v3/reports/{kind}", query_string=params, headers={"Accept": "text/html"})
        page = _Page()
        page.feed(response.text)
        assert response.mimetype == "text/html"
        assert not {"script", "img", "link", "iframe"} & page.tags.keys()
        assert page.tags["table"] >= 1
        assert name in page.text
        assert "the first one that is recorded" in page.text

    @pytest.mark.parametrize("kind", ["consumption", "provenance"])
    def test_the_page_has_the_times_of_a_zone(self, client: FlaskClient, kind: str) -> None:
        record_new(client, copying("raw", "orders", "UID", run=run(0)))
        params = {**ALL, **SUBJECT, "endpoint": "raw" if kind == "consumption" else "orders"}
        response = client.get(
            f"/v3/reports/{kind}",
            query_string={**params, "start": "3600", "timezone": "Asia/Kolkata"},
            headers={"Accept": "text/html"},
        )
        assert "1970-01-01 06:30:00 Asia/Kolkata" in response.text
        assert "UTC" not in response.text.replace("Days (UTC)", "")

    @pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "x" * 5_000, "Europe", "\0"])
    def test_another_zone_is_refused(self, client: FlaskClient, zone: str) -> None:
        response = client.get(
            "/v3/reports/provenance", query_string={**ALL, **SUBJECT, "timezone": zone, "part": "none"}
        )
        assert error_paths(response, 400) == ["part", "timezone"]

    def test_provenance_names_the_programs(self, uid: FlaskClient) -> None:
        body = report(uid, "provenance", endpoint="lost")
        assert body["failedOnly"] == 1
        assert [(item["program"], item["failed"]) for item in body["programs"]] == [("lose", 1)]

    def test_a_page_that_was_cut_says_so_at_its_top(self) -> None:
        table = open_table("sqlite:///:memory:")
        store = LineageStore(table, Settings(level_max=1))
        client = create_app(store, Settings(level_max=1)).test_client()
        record_new(
            client, copying("raw", "orders", "UID", run=run(0)), copying("orders", "bills", "UID", run=run(1))
        )
        response = client.get(
            "/v3/reports/consumption", query_string={**ALL, **SUBJECT}, headers={"Accept": "text/html"}
        )
        assert response.headers["Truncated-By"] == "level_max=1"
        assert "not complete. Limits that cut it: level_max=1" in response.text.split("<h2>")[0]
        store.close()


class _Page(HTMLParser):
    """The text of a page, and how often it has each tag."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_data(self, data: str) -> None:
        self.text += data


def test_bad_questions_name_every_fault(uid: FlaskClient) -> None:
    response = uid.get("/v3/reports/consumption?endpoint=&part=sources&causal=1&limit=0")
    assert error_paths(response, 400) == ["causal", "endpoint", "field", "limit", "namespace", "part"]
    for kind in ("consumption", "provenance"):
        missing = uid.get(f"/v3/reports/{kind}", query_string={**SUBJECT, "field": "nothing"})
        assert_problem(missing, 404)


@pytest.mark.slow
@given(
    steps=st.lists(
        st.tuples(
            *(st.sampled_from("abcd"), st.sampled_from("abcd"), st.integers(0, 5)),
            *(st.sampled_from("pq"), st.sampled_from(["COMPLETE", "FAIL"])),
        ),
        min_size=1,
        max_size=8,
    ),
    causal=st.sampled_from(["true", "false"]),
)
def test_fields_are_those_of_reach_and_programs_those_of_runs(
    steps: list[tuple[str, str, int, str, str]], causal: str
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    for number, (source, destination, hour, program, state) in enumerate(steps):
        members = {**run(hour, program=program, state=state), "run": str(number)}
        document = copying(source, destination, "UID", run=members)
        client.post(f"{path('ns1')}/lineage", json=document)
    first = steps[0][0]
    body = report(client, "consumption", endpoint=first, causal=causal)
    reach = get_json(
        client, "ns1", "endpoints", first, "fields", "UID", "reach", direction="forward", causal=causal, **ALL
    )
    assert sorted(names(body["derived"])) == sorted(
        {f"{edge['to']['name']}.UID" for edge in reach["edges"]} - {f"{first}.UID"}
    )
    assert {item["program"] for item in body["programs"]} == {item["program"] for item in body["runs"]}
    assert sum(item["runs"] + item["failed"] for item in body["programs"]) == len(body["runs"])
    assert body["failedOnly"] == sum(not item["runs"] for item in body["programs"])
    for item in body["programs"]:
        for count in ("runs", "failed"):
            assert sum(day[count] for day in item["days"]) == item[count]
        assert all(len(day["failedRuns"]) == day["failed"] for day in item["days"])
    store.close()


def test_operations_take_all_inputs_of_one_name(client: FlaskClient) -> None:
    text = "INSERT INTO o (x) SELECT coalesce(a.id, b.id) FROM a JOIN b ON a.k = b.k"
    assert client.post(path("ns1", "sql"), json={"run": run(1), "sql": text}).status_code == 201
    subject = {"namespace": "ns1", "endpoint": "o", "field": "x"}
    query = {**ALL, **subject}
    page = client.get("/v3/reports/provenance", query_string=query, headers={"Accept": "text/html"})
    assert "ns1/a.id, ns1/b.id" in page.text
