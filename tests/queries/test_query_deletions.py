"""After a purge each answer equals the one before it, or says since when it is complete."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.model.window import Window
from fll_hbase.queries import (
    cdap_routes,
    derivations,
    diff,
    field_lineage,
    history,
    lineage,
    openlineage_events,
    programs,
    reach,
    retention,
    run_details,
    runs,
    tags,
)
from fll_hbase.queries.query import Query, Windowed
from fll_hbase.queries.reports import field_report
from fll_hbase.queries.time_window import epoch_seconds
from fll_hbase.runtime.errors import NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.retention import apply_retention
from fll_hbase.store.retention_requests import RetentionRequest
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import Table
from tests.support.retained_histories import HISTORIES, HORIZONS, recorded
from tests.support.small_world import COMMON, CONTENTS, DATASETS, EDGES_MS, RUNS, STARTS_MS

MODULES = (
    *(cdap_routes, derivations, diff, field_lineage, field_report, history, lineage, openlineage_events),
    *(programs, reach, retention, run_details, runs, tags),
)
POLICY = "ninety"
NOW_MS = STARTS_MS[-1] + 1_000


def windowed() -> Iterator[type[Query[Any]]]:
    """Yield every query about a window, and those about one run."""
    for module in MODULES:
        for _, item in inspect.getmembers(module, inspect.isclass):
            is_query = item.__module__ == module.__name__ and issubclass(item, Query) and "path" in vars(item)
            if is_query and issubclass(item, Windowed | run_details.Run | run_details.RunOfNamespace):
                yield item


WINDOWED = tuple(windowed())


@st.composite
def queries(draw: st.DrawFn) -> Query[Any]:
    kind = draw(st.sampled_from(WINDOWED))
    dataset = draw(st.sampled_from(DATASETS))
    start_ms, stop_ms = sorted(draw(st.sampled_from(EDGES_MS)) for _ in range(2))
    values = {
        "namespace": "n" if "name" not in inspect.signature(kind).parameters else dataset.namespace,
        "name": dataset.name,
        "field": COMMON,
        "run": draw(st.sampled_from(RUNS)),
        "start": epoch_seconds(start_ms),
        "end": epoch_seconds(stop_ms),
        "policy": POLICY,
        "level": 3,
        "inherited": True,
    }
    if kind is retention.Retention:
        values["namespace"] = DATASETS[0].namespace
    if kind is reach.Reach:
        values["direction"] = draw(st.sampled_from(["backward", "forward", "both"]))
    return kind(**{name: values[name] for name in inspect.signature(kind).parameters if name in values})


def purge(table: Table, policy: RetentionPolicy) -> None:
    # Cells of the next hour are old enough, too.
    apply_retention(table, policy, grace_ms=-3_600_000, dry_run=False, report=lambda *_: None)


def store_with(history_of_runs: list[RecordedRun]) -> LineageStore:
    _, store = recorded(history_of_runs)
    dataset = DATASETS[0]
    if store.catalogue.has_dataset(dataset):
        field = DatasetField(dataset, COMMON)
        store.policies.put(AgePolicy(POLICY, parse_max_age("1s"), "", field, "", 0))
    return store


def answered(store: LineageStore, query: Query[Any]) -> tuple[Any, int | None]:
    """Return the body of an answer, or None where nothing of the name is found; and what was deleted."""
    try:
        answer = query.checked_answer(store, now_ms=NOW_MS)
    except NotFound as error:
        return None, 0 if "may have been deleted" in str(error) else None
    body = msgspec.to_builtins(answer.body)
    if isinstance(body, dict):
        assert body.pop("retainedFrom", None) == answer.retained_from_ms
        # The time at which the policy was put.
        body.get("policy", {}).pop("at", None)
    return body, answer.retained_from_ms


@given(history_of_runs=HISTORIES, policies=st.lists(HORIZONS, min_size=1, max_size=3), query=queries())
def test_an_answer_says_what_a_purge_deleted(
    history_of_runs: list[RecordedRun], policies: list[RetentionPolicy], query: Query[Any]
) -> None:
    store = store_with(history_of_runs)
    complete, since_ms = answered(store, query)
    assert since_ms is None
    for policy in policies:
        purge(store.table, policy)
    remaining, since_ms = answered(LineageStore(store.table), query)
    event("equal" if remaining == complete else "less")
    assert remaining == complete or since_ms is not None


@given(history_of_runs=HISTORIES, before_ms=st.sampled_from(STARTS_MS), query=queries())
def test_an_answer_says_what_a_request_removed(
    history_of_runs: list[RecordedRun], before_ms: int, query: Query[Any]
) -> None:
    store = store_with(history_of_runs)
    complete, _ = answered(store, query)
    store.retention.put(RetentionRequest(None, before_ms))
    remaining, since_ms = answered(store, query)
    assert remaining == complete or since_ms == before_ms


A, B, C = DATASETS
FAR = {
    "reach": (reach.Reach(*C, COMMON, start=0), (A, B)),
    "lineage": (lineage.Lineage(namespace=C.namespace, name=C.name, level=3, start=0), (A, B)),
    "provenance": (field_report.Provenance(*C, COMMON, start=0), (A, B)),
    "consumption": (field_report.Consumption(*A, COMMON, start=0), (B, C)),
}
"""Queries from one end of a chain, and the datasets whose runs at its other end are deleted."""


@pytest.mark.parametrize("name", FAR)
def test_a_purge_behind_the_first_dataset_counts(name: str) -> None:
    query, purged = FAR[name]
    steps = [
        RecordedRun(program_run(number), content) for number, content in enumerate((CONTENTS[0], CONTENTS[3]))
    ]
    store = store_with(steps)
    complete, since_ms = answered(store, query)
    assert since_ms is None
    purge(store.table, RetentionPolicy(datasets_ms=dict.fromkeys(purged, STARTS_MS[2])))
    remaining, since_ms = answered(LineageStore(store.table), query)
    assert remaining != complete
    assert since_ms == STARTS_MS[2]


def program_run(number: int) -> ProgramRun:
    return ProgramRun("n", "app", "1", "t", "p", RUNS[number], STARTS_MS[number])


def test_an_empty_window_lacks_nothing() -> None:
    store = store_with([RecordedRun(program_run(0), CONTENTS[0])])
    purge(store.table, RetentionPolicy(datasets_ms={B: STARTS_MS[2]}))
    for query in (runs.AllRuns(start=5, end=5), reach.Reach(*A, COMMON, direction="forward", start=5, end=5)):
        assert answered(LineageStore(store.table), query)[1] is None


def test_lists_of_runs_say_nothing_of_purges_of_hidden_namespaces() -> None:
    store = store_with([])
    purge(store.table, RetentionPolicy(3, {"hidden": 9, "n": 5}, {Dataset("hidden", "a"): 11}))
    reader = Principal("reader", grants=(Grant(Role.READER, "n"),))
    window = Window(0, 100)
    assert store.runs_retained_from_ms(window) == 11
    assert StoreView(store, reader).runs_retained_from_ms(window) == 5


def test_purges_become_one_with_the_later_cut_offs() -> None:
    store = store_with([])
    policies = (
        RetentionPolicy(7),
        RetentionPolicy(9, {"n": 3}, {A: 0}),
        RetentionPolicy(0, {}, {B: 11}),
    )
    for policy in policies:
        purge(store.table, policy)
        horizons = LineageStore(store.table).components.requests.current()
        assert len(horizons.purges) == 1
    assert [horizons.deleted_before_ms(dataset) for dataset in (A, B, Dataset("other", "c"))] == [7, 11, 9]


def test_no_purge_is_noted_without_a_cut_off() -> None:
    store = store_with([])
    purge(store.table, RetentionPolicy())
    assert store.components.requests.current().purges == ()
