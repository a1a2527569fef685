"""Programs of a dataset or field, counts of their runs over time, and lists of the runs of one field."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeClient
from tests.support.api_client import ALL, assert_problem, error_paths, get_json, path, record_new
from tests.support.lineage_documents import Json, copying
from tests.support.plain_events import plain_event

FIRST_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
DATASET = ("ns1", "endpoints", "orders")


def nightly(run: str, *, program: str = "nightly", hours: int = 0, **more: Any) -> Json:
    """The member `run` of a document; it starts some hours after FIRST_MS."""
    members = {"application": "shop", "type": "spark", "program": program, "run": run}
    return {**members, "startTime": FIRST_MS + hours * HOUR_MS, **more}


def window(first_hour: int, last_hour: int) -> dict[str, int]:
    """Parameters of a window in hours after FIRST_MS."""
    return {
        "start": (FIRST_MS + first_hour * HOUR_MS) // 1000,
        "end": (FIRST_MS + last_hour * HOUR_MS) // 1000,
    }


@pytest.fixture
def orders(client: FlaskClient) -> FlaskClient:
    """`load` writes orders every hour; `bill` reads `UID` of it, and failed once; `sum` read `price` once."""
    for hour in range(4):
        record_new(
            client,
            copying("raw", "orders", "UID", "price", run=nightly(f"l{hour}", program="load", hours=hour)),
        )
    record_new(
        client,
        copying("orders", "bills", "UID", run=nightly("b1", program="bill", hours=1)),
        copying("orders", "bills", "UID", run=nightly("b2", program="bill", hours=2, state="FAIL")),
        copying("orders", "sums", "price", run=nightly("s1", program="sum", hours=3)),
    )
    return client


class TestPrograms:
    def test_every_program_once_with_its_runs(self, orders: FlaskClient) -> None:
        listed = get_json(orders, *DATASET, "programs", **ALL)
        assert not listed["truncated"]
        assert [program["program"] for program in listed["programs"]] == ["load", "sum", "bill"]
        assert listed["programs"][2] == {
            "namespace": "ns1",
            "application": "shop",
            "program": "bill",
            "type": "spark",
            "direction": "forward",
            "runs": 1,
            "failed": 1,
            "firstStart": FIRST_MS + HOUR_MS,
            "lastStart": FIRST_MS + HOUR_MS,
            "lastRun": "b1",
        }
        assert (listed["programs"][0]["runs"], listed["programs"][0]["firstStart"]) == (4, FIRST_MS)

    def test_programs_with_failed_runs_alone_are_listed_apart(self, orders: FlaskClient) -> None:
        only_failed = window(2, 3)
        without = get_json(orders, *DATASET, "programs", **only_failed)
        assert [program["program"] for program in without["programs"]] == ["load"]
        assert without["failedOnly"] == 1
        listed = get_json(orders, *DATASET, "programs", **only_failed, failed="true")["programs"]
        bill = next(program for program in listed if program["program"] == "bill")
        assert (bill["runs"], bill["failed"], bill["failedOnly"], bill["lastRun"]) == (0, 1, True, "b2")

    @pytest.mark.parametrize(
        ("query", "programs"),
        [
            ({"direction": "forward"}, ["sum", "bill"]),
            ({"direction": "backward"}, ["load"]),
            ({"field": "UID"}, ["load", "bill"]),
            ({"field": "UID", "direction": "forward"}, ["bill"]),
        ],
        ids=["readers", "writers", "field", "readers of a field"],
    )
    def test_runs_are_selected(self, orders: FlaskClient, query: Json, programs: list[str]) -> None:
        listed = get_json(orders, *DATASET, "programs", **ALL, **query)["programs"]
        assert [program["program"] for program in listed] == programs

    def test_a_program_that_reads_and_writes(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x", run=nightly("r1")))
        record_new(client, copying("b", "c", "x", run=nightly("r2")))
        (program,) = get_json(client, "ns1", "endpoints", "b", "programs", **ALL)["programs"]
        assert (program["direction"], program["runs"]) == ("both", 2)

    def test_more_programs_than_the_limit(self, make_client: MakeClient) -> None:
        client = make_client(Settings(list_limit_max=2))
        for number in range(3):
            run = nightly(f"r{number}", program=f"p{number}", hours=number)
            record_new(client, copying("a", "b", "x", run=run))
        listed = get_json(client, "ns1", "endpoints", "b", "programs", **ALL)
        assert [program["program"] for program in listed["programs"]] == ["p2", "p1"]
        assert (listed["truncated"], listed["truncatedBy"]) == (True, ["list_limit_max=2"])

    @pytest.mark.parametrize("route", ["programs", "runs", "runs/counts"])
    def test_names_that_were_never_recorded(self, orders: FlaskClient, route: str) -> None:
        segments = route.split("/")
        assert_problem(orders.get(path("ns1", "endpoints", "nothing", *segments, **ALL)), 404)
        assert_problem(orders.get(path(*DATASET, *segments, **ALL, field="nothing")), 404)
        assert orders.get(path(*DATASET, *segments, start=1, end=2)).status_code == 200
        assert orders.get(path(*DATASET, *segments, start=1, end=2, field="UID")).status_code == 200
        assert error_paths(orders.get(path(*DATASET, *segments, field="")), 400) == ["field"]

    def test_the_window_is_in_the_headers(self, orders: FlaskClient) -> None:
        for route in ("programs", "runs/counts"):
            answer = orders.get(path(*DATASET, *route.split("/"), start=5, end="7.5"))
            assert (answer.headers["Window-Start"], answer.headers["Window-End"]) == ("5.000", "7.500")


class TestRunsOfField:
    def test_pages_have_the_runs_of_the_field_alone(self, orders: FlaskClient) -> None:
        runs = get_json(orders, *DATASET, "runs", **ALL, field="UID")["runs"]
        assert [run["run"] for run in runs] == ["l3", "b2", "l2", "b1", "l1", "l0"]
        first = orders.get(path(*DATASET, "runs", **ALL, field="UID", limit=4))
        assert [run["run"] for run in first.json["runs"]] == ["l3", "b2", "l2", "b1"]
        (link,) = first.headers["Link"].split(";")[:1]
        second = orders.get(link.strip("<>").replace("http://localhost", ""))
        assert [run["run"] for run in second.json["runs"]] == ["l1", "l0"]


event = partial(plain_event, day="2023-11-15")


class TestUnknownColumns:
    """Runs that used a dataset and do not report whether they used a field of it."""

    @pytest.fixture
    def client(self, orders: FlaskClient) -> FlaskClient:
        for item in (
            event("peek", 1, inputs=["orders"], outputs=[]),
            event("export", 2, inputs=["orders"], outputs=["file"]),
            event("refill", 3, inputs=[], outputs=["orders"]),
            event("crash", 4, inputs=["orders"], outputs=[], eventType="FAIL"),
        ):
            assert orders.post("/api/v1/lineage", json=item).status_code == 201
        return orders

    def programs(self, client: FlaskClient, **query: str) -> tuple[list[str], list[str]]:
        listed = get_json(client, *DATASET, "programs", **ALL, **query)
        members = ("programs", "programsWithUnknownColumns")
        sure, unsure = ([item["program"] for item in listed.get(name, ())] for name in members)
        return sure, unsure

    def test_their_programs_are_apart(self, client: FlaskClient) -> None:
        assert self.programs(client, field="UID", direction="forward") == (
            ["bill"],
            ["export", "peek", "crash"],
        )
        assert self.programs(client, field="UID", direction="backward") == (["load"], ["refill"])
        assert self.programs(client)[1] == []
        unknown = get_json(client, *DATASET, "programs", **ALL, field="UID")["programsWithUnknownColumns"]
        assert [item.get("failedOnly", False) for item in unknown] == [False, False, False, True]

    def test_a_field_that_was_never_recorded_is_not_found(self, client: FlaskClient) -> None:
        assert_problem(client.get(path(*DATASET, "programs", **ALL, field="nothing")), 404)

    def test_a_program_that_reported_columns_in_another_run_is_in_both(self, client: FlaskClient) -> None:
        record_new(client, copying("orders", "bills", "UID", run=nightly("p1", program="peek", hours=9)))
        for programs in self.programs(client, field="UID", direction="forward"):
            assert "peek" in programs

    def test_they_are_bounded(self, make_client: MakeClient) -> None:
        client = make_client(Settings(list_limit_max=2))
        record_new(client, copying("orders", "bills", "UID", run=nightly("b1")))
        for number in range(3):
            body = event(f"peek{number}", number, inputs=["orders"], outputs=[])
            assert client.post("/api/v1/lineage", json=body).status_code == 201
        listed = get_json(client, *DATASET, "programs", **ALL, field="UID")
        assert [item["program"] for item in listed["programsWithUnknownColumns"]] == ["peek2", "peek1"]
        assert listed["truncatedBy"] == ["list_limit_max=2"]

    def test_pages_count_their_runs_once(self, client: FlaskClient) -> None:
        complete = get_json(client, *DATASET, "runs", **ALL, field="UID")
        assert (len(complete["runs"]), complete["runsWithUnknownColumns"]) == (6, 4)
        assert "runsWithUnknownColumns" not in get_json(client, *DATASET, "runs", **ALL)
        runs, counted, link = [], 0, path(*DATASET, "runs", **ALL, field="UID", limit=1)
        while link:
            answer = client.get(link)
            runs += answer.get_json()["runs"]
            counted += answer.get_json().get("runsWithUnknownColumns", 0)
            link = answer.headers.get("Link", "").split(">")[0].strip("<").replace("http://localhost", "")
        assert (runs, counted) == (complete["runs"], 4)

    def test_hidden_programs_have_numbers(self, client: FlaskClient) -> None:
        reader = Principal("ana", (Grant(Role.READER, "ns1"),))
        hidden = event("secret", 5, inputs=["orders"], outputs=[])
        hidden["job"]["namespace"] = "other"
        assert client.post("/api/v1/lineage", json=hidden).status_code == 201
        answer = client.get(
            path(*DATASET, "programs", **ALL, field="UID", direction="forward"),
            environ_overrides={PRINCIPAL: reader},
        )
        listed = answer.get_json()["programsWithUnknownColumns"]
        assert [item.get("program", item.get("hidden")) for item in listed] == [1, "export", "peek", "crash"]


class TestCounts:
    def test_buckets_divide_the_window(self, orders: FlaskClient) -> None:
        counts = get_json(orders, *DATASET, "runs", "counts", **window(0, 4), buckets=4)
        assert counts == {
            "buckets": [
                {"start": (FIRST_MS + hour * HOUR_MS) // 1000, "complete": complete, "failed": failed}
                for hour, complete, failed in ((0, 1, 0), (1, 2, 0), (2, 1, 1), (3, 2, 0))
            ],
            "truncated": False,
        }

    @pytest.mark.parametrize("buckets", ["0", "1001", "x", "-1"])
    def test_other_numbers_of_buckets_are_refused(self, orders: FlaskClient, buckets: str) -> None:
        answer = orders.get(path(*DATASET, "runs", "counts", buckets=buckets))
        assert error_paths(answer, 400) == ["buckets"]

    def test_a_window_of_no_length_has_no_buckets(self, orders: FlaskClient) -> None:
        assert get_json(orders, *DATASET, "runs", "counts", start=7, end=7)["buckets"] == []


starts = st.integers(0, 20)
recorded = st.lists(st.tuples(starts, st.sampled_from(["p", "q"]), st.booleans()), max_size=12)


@pytest.mark.slow
@given(recorded, starts, starts, st.integers(1, 25))
def test_counts_and_programs_are_those_of_the_list_of_runs(
    runs: list[tuple[int, str, bool]], first: int, last: int, buckets: int
) -> None:
    """Milliseconds, so that buckets are of unequal length; the list of runs is the reference."""
    client = create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()
    record_new(client, copying("other", "orders", "x", run=nightly("known", program="known", hours=-1)))
    for number, (start_ms, program, is_failed) in enumerate(runs):
        members = {"startTime": FIRST_MS + start_ms, "state": "FAIL" if is_failed else "COMPLETE"}
        record_new(client, copying("raw", "orders", "x", run=nightly(str(number), program=program) | members))
    first_ms, last_ms = FIRST_MS + min(first, last), FIRST_MS + max(first, last)
    bounds = {"start": f"{first_ms / 1000:.3f}", "end": f"{last_ms / 1000:.3f}"}
    listed = get_json(client, *DATASET, "runs", **bounds)["runs"]

    counted = get_json(client, *DATASET, "runs", "counts", **bounds, buckets=buckets)["buckets"]
    limits = [round(bucket["start"] * 1000) for bucket in counted] + [last_ms]
    expected = [
        Counter(run["state"] for run in listed if start <= run["startTime"] < end)
        for start, end in pairwise(limits)
    ]
    assert [(bucket["complete"], bucket["failed"]) for bucket in counted] == [
        (states["COMPLETE"], states["FAIL"]) for states in expected
    ]
    assert len(counted) == min(buckets, last_ms - first_ms)

    by_program = defaultdict(list)
    for run in listed:
        by_program[run["program"]].append(run)
    programs = get_json(client, *DATASET, "programs", **bounds, failed="true")["programs"]
    complete, failed = (
        {
            name: [run for run in members if (run["state"] == "FAIL") is is_failed]
            for name, members in by_program.items()
        }
        for is_failed in (False, True)
    )
    assert {
        program["program"]: (program["runs"], program["failed"], program["lastRun"], program["firstStart"])
        for program in programs
    } == {
        name: (
            len(complete[name]),
            len(failed[name]),
            (complete[name] or failed[name])[0]["run"],
            (complete[name] or failed[name])[-1]["startTime"],
        )
        for name in by_program
    }
    listed = get_json(client, *DATASET, "programs", **bounds)
    assert listed["programs"] == [program for program in programs if program["runs"]]
    assert listed["failedOnly"] == sum(program.get("failedOnly", False) for program in programs)
    assert listed["failedOnly"] == sum(not members for members in complete.values())
