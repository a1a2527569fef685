"""`connect` answers alike from a store and a server, with typed answers, data frames and our errors."""

from __future__ import annotations

import doctest
import inspect
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from fll_hbase import connect, queries
from fll_hbase.client import connection as connection_module
from fll_hbase.client.answers import TypedAnswer
from fll_hbase.client.connection import Connection
from fll_hbase.client.opening import open_client
from fll_hbase.queries.catalogue import DatasetDetails
from fll_hbase.queries.cdap_routes import (
    CdapFieldOperations,
    CdapFields,
    CdapFieldSummary,
    CdapRelationsOfDataset,
)
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, InvalidQuery, NotFound, StoreUnavailable
from tests.support.commands import END_MS, WINDOW
from tests.support.small_documents import NAMES

WINDOWED: dict[str, Any] = {"start": WINDOW[1], "end": WINDOW[3]}
DAILY = ("bank", "DailyTransactions")
SCORE = ("hospital", "PatientRecords", "patient_medical_score")

QUESTIONS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("lineage", DAILY, {**WINDOWED, "level": 5, "direction": "forward"}),
    ("field_lineage", (*DAILY, "UID"), {**WINDOWED, "direction": "forward", "view": "simple"}),
    ("derivations", ("hospital", "PatientRecords", "patient_medical_score"), {**WINDOWED, "start": 0}),
    ("derivations", (*DAILY, "UID"), {**WINDOWED, "limit": 2}),
    ("runs", DAILY, {**WINDOWED, "limit": 7}),
    ("runs", DAILY, {**WINDOWED, "program": "print", "state": "COMPLETE", "field": "UID"}),
    ("programs", DAILY, {**WINDOWED, "field": "UID", "failed": True}),
    ("reach", (*DAILY, "UID"), {**WINDOWED, "direction": "both", "failed": True}),
    ("history", SCORE, {**WINDOWED, "start": 0, "indirect": False}),
    ("diff", SCORE, {**WINDOWED, "base_start": date(2025, 7, 1), "base_end": "2025-08-01"}),
    ("dataset_diff", SCORE[:2], {**WINDOWED, "base_start": 0}),
    ("consumption", (*DAILY, "UID"), WINDOWED),
    ("consumption", (*DAILY, "UID"), {**WINDOWED, "limit": 3, "causal": False}),
    ("provenance", SCORE, {**WINDOWED, "failed": True}),
    ("run_counts", DAILY, {**WINDOWED, "buckets": 9}),
    ("all_runs", (), {**WINDOWED, "limit": 20}),
    ("namespace_runs", ("bank",), {**WINDOWED, "program": "features", "limit": 3}),
    ("dataset", DAILY, {}),
    ("openlineage_events", DAILY, {**WINDOWED, "limit": 3}),
    ("namespace_openlineage_events", ("bank",), {**WINDOWED, "limit": 2}),
    ("all_openlineage_events", (), {**WINDOWED, "state": "FAIL"}),
    ("search", ("uid",), {"limit": 3}),
    *(
        ("ask", (query,), {})
        for query in (
            CdapFields(*DAILY, **WINDOWED),
            CdapFields(*DAILY, **WINDOWED, include_current=True),
            CdapFieldSummary(*DAILY, "UID", **WINDOWED, direction="outgoing"),
            CdapFieldOperations(*DAILY, "UID", **WINDOWED),
            CdapRelationsOfDataset(*DAILY, **WINDOWED),
        )
    ),
    ("namespaces", (), {}),
    ("namespaces", (), {"limit": 1}),
    ("datasets", ("bank",), {"prefix": "C"}),
    ("datasets", ("nowhere",), {}),
    ("fields", DAILY, {}),
    ("fields", DAILY, {"prefix": "a", "limit": 1}),
    ("field", (*DAILY, "UID"), {}),
    *(("lineage", ("shop", name), {"start": 0}) for name in NAMES),
    *(("run", (f"run of {name}",), {}) for name in NAMES),
]


@pytest.fixture(scope="module")
def local(sampled: str) -> Iterator[Connection]:
    with open_client(sampled, settings=Settings(store=sampled), clock=lambda: END_MS) as client:
        yield client


@pytest.fixture(scope="module")
def remote(server: str) -> Iterator[Connection]:
    with connect(server) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(("method", "names", "arguments"), QUESTIONS, ids=map(str, range(len(QUESTIONS))))
def test_a_server_answers_as_its_store_does(
    local: Connection, remote: Connection, method: str, names: tuple[str, ...], arguments: dict[str, Any]
) -> None:
    ours, theirs = (getattr(client, method)(*names, **arguments) for client in (local, remote))
    assert ours.body == theirs.body
    assert (ours.incomplete, ours.next_page) == (theirs.incomplete, theirs.next_page)
    if hasattr(ours, "rows"):
        assert ours.rows == theirs.rows
        assert all(list(row) == list(ours.columns) for row in ours)


@pytest.mark.parametrize(
    ("method", "names", "arguments", "kind"),
    [
        ("lineage", ("bank", "nowhere"), WINDOWED, NotFound),
        ("fields", ("bank", "nowhere"), {}, NotFound),
        ("field", (*DAILY, "nothing"), {}, NotFound),
        ("field", (*DAILY, "lineage"), {}, InvalidQuery),
        ("run", ("nothing",), {}, NotFound),
        ("content", ("0" * 32,), {}, NotFound),
        ("derivations", (*DAILY, "nothing"), WINDOWED, NotFound),
        ("derivations", (*DAILY, "UID"), {"limit": 0}, InvalidQuery),
        ("derivations", (*DAILY, "UID"), {"cursor": "x"}, InvalidQuery),
        ("runs", DAILY, {"start": "soon"}, InvalidQuery),
        ("runs", DAILY, {"start": ""}, InvalidQuery),
        ("runs", DAILY, {"start": float("nan")}, InvalidQuery),
        ("runs", DAILY, {"start": datetime(2026, 1, 1)}, InvalidQuery),
        ("runs", DAILY, {"start": 9, "end": 8}, InvalidQuery),
        ("runs", DAILY, {"limit": 0}, InvalidQuery),
        ("runs", DAILY, {"state": "DONE"}, InvalidQuery),
        ("runs", DAILY, {"cursor": "x"}, InvalidQuery),
        ("runs", DAILY, {"cursor": ""}, InvalidQuery),
        ("runs", ("", "a"), {}, InvalidQuery),
        ("runs", (1, "a"), {}, InvalidQuery),
        ("runs", DAILY, {"start": None}, InvalidQuery),
        ("lineage", DAILY, {"direction": None}, InvalidQuery),
        ("lineage", DAILY, {"level": None}, InvalidQuery),
        ("lineage", DAILY, {"indirect": "no"}, InvalidQuery),
        ("lineage", DAILY, {"level": 0}, InvalidQuery),
        ("lineage", DAILY, {"direction": "up"}, InvalidQuery),
        ("lineage", ("bank", "\udcff"), {}, InvalidQuery),
        ("field_lineage", (*DAILY, "UID"), {"view": "wide"}, InvalidQuery),
        ("run_counts", DAILY, {"buckets": 1001}, InvalidQuery),
        ("search", ("",), {}, InvalidQuery),
    ],
)
def test_errors_are_the_same(
    local: Connection,
    remote: Connection,
    method: str,
    names: tuple[str, ...],
    arguments: dict[str, Any],
    kind: type[Exception],
) -> None:
    for client in (local, remote):
        with pytest.raises(kind):
            getattr(client, method)(*names, **arguments)


def test_items_are_those_of_a_query_with_pages(local: Connection) -> None:
    with pytest.raises(InvalidQuery, match="DatasetDetails is not a list"):
        next(local.items(DatasetDetails(*DAILY)))


def test_help_shows_names_and_types(local: Connection) -> None:
    assert local.fields.__name__ == "fields"
    assert str(inspect.signature(local.fields)) == (
        "(namespace: str, name: str, *, limit: int | None = None, cursor: str | None = None,"
        " prefix: str = '', text: str = '')"
    )


def test_the_examples_of_docstrings(sampled: str, tmp_path: Path) -> None:
    # On a copy: some of them write.
    url = f"sqlite:///{tmp_path}/copy.db"
    shutil.copy(sampled.removeprefix("sqlite:///"), tmp_path / "copy.db")
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with open_client(url, settings=Settings(store=url), clock=lambda: END_MS) as client:
        examples = [
            example
            for name in dir(Connection)
            if inspect.isfunction(method := getattr(Connection, name))
            for example in doctest.DocTestFinder().find(
                method, name, module=connection_module, globs={"client": client}
            )
        ]
        for owner in (Connection, TypedAnswer):
            examples += doctest.DocTestFinder(recurse=False).find(owner, globs={"client": client})
        for example in examples:
            runner.run(example)
    assert runner.failures == 0
    ran = {example.docstring for example in examples if example.examples}
    # Only a server answers `Events`.
    assert [name for name in queries.__all__ if getattr(queries, name).__doc__ not in ran] == ["Events"]


def test_pages_of_runs_are_all_runs(local: Connection, remote: Connection) -> None:
    everything = local.runs(*DAILY, **WINDOWED, program="print").body.runs
    for client in (local, remote):
        page = client.runs(*DAILY, **WINDOWED, program="print", limit=7)
        runs = list(page.body.runs)
        while page.next_page:
            page = client.runs(*DAILY, program="print", limit=7, **page.next_page)
            runs += page.body.runs
        assert tuple(runs) == everything
    assert {run.program for run in everything} == {"print"}
    assert len(everything) > 7


@pytest.mark.parametrize("name", NAMES)
def test_a_run_has_the_operations_of_its_content(local: Connection, remote: Connection, name: str) -> None:
    for client in (local, remote):
        run = client.run(f"run of {name}").body
        content = client.content(run.checksum).body
        assert (content.datasets, content.operations) == (run.datasets, run.operations)


def test_pages_of_derivations_are_all_runs(local: Connection, remote: Connection) -> None:
    (everything,) = local.derivations(*DAILY, "UID", **WINDOWED).body.paths
    assert everything.run_count == len(everything.runs) > 9
    limit = len(everything.runs) // 3
    for client in (local, remote):
        page = client.derivations(*DAILY, "UID", **WINDOWED, limit=limit)
        assert not page.incomplete
        runs = [*page.body.paths[0].runs]
        while page.next_page:
            page = client.derivations(*DAILY, "UID", limit=limit, **page.next_page)
            runs += page.body.paths[0].runs
        assert tuple(runs) == everything.runs


def test_a_consumption_report_has_the_runs_of_all_pages(local: Connection, remote: Connection) -> None:
    for client in (local, remote):
        body = client.consumption(*DAILY, "UID", **{**WINDOWED, "start": 0}).body
        assert len(body.runs) == len({run.run for run in body.runs}) > 1_000
        assert (body.more_runs, bool(body.programs)) == (False, True)
        page = client.consumption(*DAILY, "UID", **WINDOWED, limit=2)
        assert (len(page.body.runs), page.body.more_runs) == (2, True)
        more = client.consumption(*DAILY, "UID", limit=2, **page.next_page).body
        assert more.programs is None
        assert not {run.run for run in more.runs} & {run.run for run in page.body.runs}


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (date(2025, 9, 9), "2025-09-09"),
        (datetime(2025, 9, 9, 8, tzinfo=UTC), "2025-09-09T08:00:00Z"),
        (datetime(2025, 9, 9, 8, tzinfo=timezone(timedelta(hours=1))), "2025-09-09T07:00:00Z"),
        (1_757_408_000, "1757408000"),
        (1e9, "1000000000"),
    ],
)
def test_times_of_python(local: Connection, start: Any, text: str) -> None:
    answers = [local.runs(*DAILY, start=time, end=WINDOW[3]) for time in (start, text)]
    assert answers[0].rows
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_tables_are_data_frames(local: Connection) -> None:
    frame = local.programs(*DAILY, field="UID").to_pandas()
    assert frame["program"].tolist()[:2] == ["features", "load_transactions"]
    assert str(frame["lastStart"].dtype) == "datetime64[ms, UTC]"
    assert frame["lastStart"].iloc[0].year == 2025
    empty = local.runs(*DAILY, start=5, end=5).to_pandas()
    assert list(empty.columns) == list(local.runs(*DAILY).columns)
    assert str(empty["startTime"].dtype) == "datetime64[ms, UTC]"
    pairs = local.lineage(*DAILY, direction="backward").to_pandas()
    assert set(pairs["destinationName"]) == {"DailyTransactions"}


def test_a_data_frame_without_pandas(local: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[pandas\]'"):
        local.namespaces().to_pandas()


def test_urls_that_lead_nowhere() -> None:
    for url in ("sqlite:///gone.db", "nosql://x", "lineage.db", ""):
        with pytest.raises(ConfigurationError):
            connect(url)
    with connect("http://127.0.0.1:1", timeout_seconds=0.1) as client, pytest.raises(StoreUnavailable):
        client.namespaces()


@pytest.mark.slow
def test_the_package_alone_is_light() -> None:
    heavy = "{'flask', 'pyspark', 'pandas', 'requests', 'sqlglot', 'click', 'msgspec'}"
    code = f"import sys, fll_hbase; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
    code = code.replace("import sys, fll_hbase", "import sys; from fll_hbase import connect")
    code = code.replace(heavy, "{'flask', 'pyspark', 'pandas'}")
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
