"""Queries: their URLs, the faults of their parameters, and bodies that every front decodes alike."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.wire.query_params import parse_query_string
from fll_hbase.model.window import DAY_MS
from fll_hbase.queries import name_json
from fll_hbase.queries.catalogue import DatasetDetails, Datasets, Fields, Namespaces
from fll_hbase.queries.contents import Content
from fll_hbase.queries.diff import DatasetDiff, Diff
from fll_hbase.queries.history import History
from fll_hbase.queries.impact.change_impact import Impact
from fll_hbase.queries.lineage import Lineage, LineageEntry
from fll_hbase.queries.names import DatasetName
from fll_hbase.queries.openlineage_events import (
    AllOpenLineageEvents,
    NamespaceOpenLineageEvents,
    OpenLineageEvents,
)
from fll_hbase.queries.parameters import Kind
from fll_hbase.queries.programs import Program, Programs, ProgramsAnswer
from fll_hbase.queries.query import Query, Windowed
from fll_hbase.queries.reports.field_report import Consumption, Provenance
from fll_hbase.queries.run_details import Run
from fll_hbase.queries.runs import AllRuns, NamespaceRuns, RunCounts, Runs
from fll_hbase.queries.search import Search
from fll_hbase.queries.tables import named_json
from fll_hbase.queries.time_window import day_text
from fll_hbase.runtime.errors import InvalidQuery

QUERIES: tuple[type[Query[Any]], ...] = (
    *(AllOpenLineageEvents, AllRuns, Consumption, Content, DatasetDetails, DatasetDiff, Datasets, Diff),
    *(Fields, History, Impact, Provenance),
    *(NamespaceOpenLineageEvents, NamespaceRuns, Namespaces, OpenLineageEvents),
    *(Programs, Run, RunCounts, Runs, Search),
)

names = st.text(min_size=1, max_size=9).filter(lambda text: text.encode("utf-8", "ignore").decode() == text)


@given(namespace=names, name=names, field=names)
def test_a_server_reads_the_parameters_as_they_were_meant(namespace: str, name: str, field: str) -> None:
    query = Programs(namespace, name, field=field, direction="forward", failed=True)
    assert query.segments() == ("v3", "namespaces", namespace, "endpoints", name, "programs")
    text = urlencode(query.params())
    params, errors = parse_query_string(text, {item.name for item in query.url_parameters()})
    assert not errors
    assert params == query.params()
    assert params["field"] == field
    assert params["failed"] == "true"


def test_every_fault_is_listed() -> None:
    query = RunCounts("", "name", start="", buckets=1_001, field="\udcff")
    with pytest.raises(InvalidQuery) as error:
        query.check()
    assert sorted(item.path for item in error.value.errors) == ["buckets", "field", "namespace", "start"]


@pytest.mark.parametrize("query", QUERIES)
def test_parameters_in_the_path_are_names(query: type[Query[Any]]) -> None:
    fields = {item.attribute for item in query.url_parameters()}
    assert not query.path_names() & fields
    assert ">>> " in str(query.__doc__)


@pytest.mark.parametrize("query", [item for item in QUERIES if issubclass(item, Windowed)])
def test_the_order_of_times_is_checked(query: type[Query[Any]]) -> None:
    names = {item.name for item in query.url_parameters() if item.kind is Kind.TIME}
    times = {**dict.fromkeys(names), "start": "2", "end": "1"}
    with pytest.raises(InvalidQuery) as error:
        query.check_times(times, now_ms=9_000)
    assert ("start", "is after end") in {(item.path, item.detail) for item in error.value.errors}


def test_a_hidden_entry_of_lineage_has_a_row() -> None:
    entry = LineageEntry(
        level=1,
        direction="backward",
        source=DatasetName(hidden=1),
        destination=DatasetName(namespace="ns", name="d"),
        fieldmap=(),
    )
    sent = msgspec.json.decode(msgspec.json.encode([entry]))
    for body in ((entry,), named_json(sent)):
        (row,) = Lineage.table.rows(body)
        assert (row["sourceName"], row["unknown"]) == ("hidden 1", True)
    assert name_json.remove_hidden_names(named_json((entry,))) == sent


def test_a_day_beyond_the_year_9999_is_in_whole_milliseconds() -> None:
    last = 2_932_896
    assert [day_text(day) for day in (last, last + 1)] == ["9999-12-31", str((last + 1) * DAY_MS)]


def test_a_hidden_program_has_a_number_and_no_names() -> None:
    counts = {"runs": 1, "failed": 0, "first_start": 1, "last_start": 2, "last_run": "r"}
    hidden = Program(hidden=1, direction="both", **counts)  # type: ignore[arg-type]
    visible = Program(
        namespace="a",
        application="",
        program="p",
        type="",
        direction="forward",
        **counts,  # type: ignore[arg-type]
    )
    body = ProgramsAnswer(programs=(hidden, visible), failed_only=0, truncated=False)
    encoded = msgspec.json.encode(body)
    assert msgspec.json.decode(encoded, type=Programs.body_type()) == body
    first, second = msgspec.json.decode(encoded)["programs"]
    assert "namespace" not in first
    assert second["application"] == ""
    assert [row["program"] for row in Programs.table.rows(body)] == ["hidden 1", "p"]
