"""Retention in one process deletes what the rules of garbage collection say, and a dry run reports it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars
from fll_hbase.keys.retention import (
    RetentionRequest,
    parse_purges,
    parse_request,
    purge_columns,
    request_column,
)
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Window
from fll_hbase.runtime.errors import ConfigurationError, CorruptRow
from fll_hbase.store.copying import progress
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.maintenance.retention import FORMER_INDEXES, apply_retention
from fll_hbase.store.read.requested_horizons import Horizons
from fll_hbase.store.retention_requests import put_purge
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Put, Table, open_table
from tests.support.audit_runner import findings
from tests.support.retained_histories import (
    ALWAYS,
    HISTORIES,
    HORIZONS,
    LATER_MS,
    cells,
    listed,
    recorded,
    swept,
)
from tests.support.small_world import CONTENTS, DATASETS, STARTS_MS

LATER_GRACE_MS = -3_600_000
"""Cells of the next hour are old enough, too."""

REQUESTS = st.lists(
    st.builds(RetentionRequest, st.none() | st.sampled_from(DATASETS), st.sampled_from(STARTS_MS)), max_size=4
)


def applied(table: Table, policy: RetentionPolicy, **options: Any) -> Any:
    options = {"grace_ms": LATER_GRACE_MS, "dry_run": False, "report": lambda *_: None, **options}
    return apply_retention(table, policy, **options)


@given(history=HISTORIES, policy=HORIZONS)
def test_it_deletes_what_the_rules_say_as_a_dry_run_reports(
    history: list[RecordedRun], policy: RetentionPolicy
) -> None:
    table, _ = recorded(history)
    expected, _ = recorded(history)
    swept(expected, policy)
    if policy != RetentionPolicy():
        put_purge(expected, policy)
    dry = applied(table, policy, dry_run=True)
    assert not any(dry.waiting.values())
    report = applied(table, policy)
    assert (report.counts, report.bytes) == (dry.counts, dry.bytes)
    assert list(cells(table)) == list(cells(expected))
    assert Kind.UNKNOWN_COLUMN not in {finding.kind for finding in findings(table)}
    assert sum(report.counts.values()) or set(cells(table)) >= set(cells(recorded(history)[0]))


@given(policy=HORIZONS)
def test_columns_of_a_purge_have_its_policy(policy: RetentionPolicy) -> None:
    assert list(parse_purges(purge_columns(policy)).values()) == [policy]


@pytest.mark.parametrize(
    "tail", ["", "x", "0" * 16, "a|b", "a|0000000000000001|", "a|b|c|d|0000000000000001"]
)
def test_a_malformed_column_of_a_purge_is_corrupt(tail: str) -> None:
    with pytest.raises(CorruptRow):
        parse_purges([b"d:p|" + tail.encode()])


@given(history=HISTORIES, policy=HORIZONS)
def test_what_is_young_waits(history: list[RecordedRun], policy: RetentionPolicy) -> None:
    table, _ = recorded(history)
    dry = applied(table, policy, dry_run=True, grace_ms=3_600_000)
    assert not any(dry.counts.values())
    assert dry.waiting == applied(table, policy).counts


@given(history=HISTORIES, requests=REQUESTS)
def test_a_request_hides_at_once_what_a_job_deletes(
    history: list[RecordedRun], requests: list[RetentionRequest]
) -> None:
    """Questions before the job, after it, and without the runs answer the same."""
    table, store = recorded(history)
    datasets = [dataset for dataset in DATASETS if store.catalogue.has_dataset(dataset)]
    requests = [request for request in requests if request.dataset is None or request.dataset in datasets]
    horizons = {
        dataset: max((r.before_ms for r in requests if r.dataset in (None, dataset)), default=0)
        for dataset in datasets
    }
    wanted = [listed(store, dataset, Window(horizons[dataset], LATER_MS)) for dataset in datasets]
    relations = [answer(store, dataset, Window(horizons[dataset], LATER_MS)) for dataset in datasets]
    for request in requests:
        store.retention.put(request)
    assert [listed(store, dataset) for dataset in datasets] == wanted
    assert [answer(store, dataset, ALWAYS) for dataset in datasets] == relations
    applied(table, RetentionPolicy())
    fresh = LineageStore(table)
    assert [listed(fresh, dataset) for dataset in datasets] == wanted
    assert not [finding for finding in findings(table) if finding.kind.is_error]


def answer(store: LineageStore, dataset: Dataset, window: Window) -> object:
    return store.lineage(dataset, replace(window, failed=True)).entries


def test_requests_about_one_name_are_about_all_names() -> None:
    source = CONTENTS[0].sources[0]
    _, store = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])])
    alias = Dataset("n", "another")
    store.put_metadata([DatasetMetadata(source, aliases=(alias,))])
    store.retention.put(RetentionRequest(alias, 6))
    assert listed(store, source) == listed(store, alias) == []


@given(request=REQUESTS.filter(bool).map(lambda requests: requests[0]))
def test_a_request_is_read_back(request: RetentionRequest) -> None:
    assert parse_request(request_column(request)) == request


def test_the_later_time_of_policy_and_request_counts() -> None:
    a, b = Dataset("n", "a"), Dataset("m", "b")
    horizons = Horizons(5, {a: 9})
    merged = horizons.merged_with(RetentionPolicy(7, {"n": 3, "m": 8}, {b: 2}))
    assert merged == RetentionPolicy(7, {"n": 5, "m": 8}, {a: 9, b: 5})
    assert Horizons().merged_with(RetentionPolicy()) == RetentionPolicy()


FORMER = [Put(b"%b|b|n|a|ffffbec4|%032x" % (kind, n), b"d:w", b"") for kind in (b"i", b"j") for n in range(3)]
"""Index rows of a release before calendars."""


def test_index_rows_of_earlier_releases_go_once_the_table_is_marked() -> None:
    marked, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])])
    table = open_table("sqlite:///:memory:")
    table.write([[Put(*cell) for cell in cells(marked) if cell[0] != calendars.MARK_ROW], FORMER])
    unchanged = list(cells(table))
    for dry_run in (True, False):
        assert applied(table, RetentionPolicy(), dry_run=dry_run).counts[FORMER_INDEXES] == 0
    assert list(cells(table)) == unchanged
    calendar_mark.mark_complete(table)
    young = applied(table, RetentionPolicy(), dry_run=True, grace_ms=3_600_000)
    assert (young.counts[FORMER_INDEXES], young.waiting[FORMER_INDEXES]) == (0, len(FORMER))
    dry = applied(table, RetentionPolicy(), dry_run=True)
    report = applied(table, RetentionPolicy())
    assert (report.counts, report.bytes) == (dry.counts, dry.bytes)
    assert report.counts[FORMER_INDEXES] == len(FORMER)
    assert report.bytes > sum(len(put.row) for put in FORMER)
    assert set(unchanged) - set(cells(table)) == {tuple(put) for put in FORMER}


def test_a_copy_that_is_not_complete_is_refused() -> None:
    table, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])])
    table.write([[progress.put_of(progress.Progress("sqlite:////a.db", 1))]])
    unchanged = list(cells(table))
    with pytest.raises(ConfigurationError, match="incomplete copy"):
        applied(table, RetentionPolicy(LATER_MS))
    assert list(cells(table)) == unchanged
