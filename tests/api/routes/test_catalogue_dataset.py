"""One dataset over all time: its description, its fields, its first and last start."""

from __future__ import annotations

from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read import run_reader
from fll_hbase.tables import Scan, Table, open_table
from tests.support.api_client import assert_problem, get_json, path, record, record_new
from tests.support.lineage_documents import START_MS, copying, run

YEAR_MS = 365 * 86_400_000
CALLS_MAX = 40
"""Reads of one answer, however many runs there are."""


def test_the_answer(client: FlaskClient) -> None:
    name = "s3://b/a|é 🙂%"
    record_new(
        client,
        copying("raw", {"name": name, "description": "Orders"}, "x", run=run("r1")),
        copying(name, "out", "x", "y", run=run("r2", start_ms=START_MS + 5, state="FAIL")),
    )
    assert get_json(client, "ns1", "endpoints", name) == {
        "namespace": "ns1",
        "name": name,
        "description": "Orders",
        "fields": 2,
        "firstStart": START_MS,
        "lastStart": START_MS + 5,
        "truncated": False,
    }


def test_unknown_names_and_parameters(client: FlaskClient) -> None:
    assert_problem(client.get(path("ns1", "endpoints", "never")), 404)
    record_new(client, copying("a", "b", "x"))
    assert_problem(client.get(path("ns1", "endpoints", "a", start="now-1d")), 400)
    assert_problem(client.get(path("ns1", "endpoints", "A")), 404)


def test_a_replaced_run_does_not_count(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x", run=run("r1", start_ms=START_MS)))
    record(client, copying("a", "b", "x", run=run("r1", start_ms=START_MS + 7)))
    answer = get_json(client, "ns1", "endpoints", "a")
    assert (answer["firstStart"], answer["lastStart"]) == (START_MS + 7, START_MS + 7)
    record(client, copying("c", "d", "x", run=run("r1", start_ms=START_MS)))
    answer = get_json(client, "ns1", "endpoints", "a")
    assert (answer["firstStart"], answer["lastStart"]) == (None, None)


def copies(starts_ms: list[int], *, source: str = "a") -> list[RecordedRun]:
    operations = [
        Read("read", "", Dataset("ns1", source), "", (Field("x"),)),
        Write("write", "", Dataset("ns1", "b"), "", (InputField("read", "x"),)),
    ]
    info = lineage.build_lineage(operations)
    return [
        RecordedRun(ProgramRun("ns1", "app", "", "t", "p", f"r{number}", start_ms), info)
        for number, start_ms in enumerate(starts_ms)
    ]


class CountingTable:
    """Passes reads on and counts them."""

    parallel_calls = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls = self.scans = 0

    def __getattr__(self, name: str) -> object:
        self.calls += 1
        return getattr(self._table, name)

    def scan_many(self, scans: list[Scan]) -> object:
        self.calls += 1
        self.scans += sum(scan.limit or 10**6 for scan in scans)
        return self._table.scan_many(scans)


def test_the_work_does_not_follow_the_runs() -> None:
    counted = []
    for runs in (300, 3_000):
        table = open_table("sqlite:///:memory:")
        starts_ms = [START_MS + number * YEAR_MS // runs for number in range(runs)]
        LineageStore(table).record(copies(starts_ms))
        counting = CountingTable(table)
        store = LineageStore(counting)  # type: ignore[arg-type]
        _, bounds = store.dataset(Dataset("ns1", "a"))
        assert (bounds.first_start_ms, bounds.last_start_ms) == (starts_ms[0], starts_ms[-1])
        counted.append((counting.calls, counting.scans))
    assert max(calls for calls, _ in counted) <= CALLS_MAX
    assert max(scans for _, scans in counted) <= 2 * run_reader.REFERENCES_MAX + 12 * run_reader.PARTS


def test_stale_references_are_skipped_within_a_bound() -> None:
    """The oldest runs moved to another dataset: their references are left behind."""
    for moved, expected in ((3, START_MS + 3), (10, None)):
        store = LineageStore(open_table("sqlite:///:memory:"))
        starts_ms = [START_MS + number for number in range(2 * run_reader.REFERENCES_MAX)]
        store.record(copies(starts_ms))
        store.record(copies(starts_ms[:moved], source="c"))
        _, bounds = store.dataset(Dataset("ns1", "a"))
        assert bounds.last_start_ms == starts_ms[-1]
        assert bool(bounds.truncated_by) is (expected is None)
        assert expected is None or bounds.first_start_ms == expected


@given(st.lists(st.integers(0, 2**63 - 2) | st.integers(0, 300), min_size=1, max_size=130))
def test_any_starts(starts_ms: list[int]) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    store.record(copies(starts_ms))
    client = create_app(store, Settings()).test_client()
    answer = get_json(client, "ns1", "endpoints", "b")
    assert (answer["firstStart"], answer["lastStart"]) == (min(starts_ms), max(starts_ms))
