"""The retention report counts each writer once, and a deadline truncates it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.model.window import Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import RetentionQuery
from fll_hbase.tables import open_table
from tests.support.cancellation import cancelled_after
from tests.support.reach_histories import NOON_MS, chain_field, copy_chain
from tests.support.reach_oracle import Edge, Run

DEPTH = 4
EVER = Window(0, 2 * NOON_MS)
POLICY = AgePolicy("gdpr", parse_max_age("1d"), "", chain_field(0), "", 0)
QUERY = RetentionQuery(POLICY, EVER, EVER, indirect=True)


@pytest.fixture
def store() -> Iterator[LineageStore]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield store
    store.close()


def test_at_the_deadline_it_has_the_fields_found(store: LineageStore) -> None:
    store.record([run.recorded() for run in copy_chain(DEPTH)])
    complete = store.retention_report(QUERY)
    lengths = set()
    for checks in range(150):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            report = LineageStore(store.table).retention_report(QUERY)
            lengths.add(len(report.fields))
            assert report.fields == complete.fields[: len(report.fields)]
            if report.truncated_by:
                assert report.truncated_by == ("request_seconds=60",)
                assert not report.complying, "an unread writer may have written it"
            else:
                assert report == complete
    assert lengths == set(range(1, DEPTH + 1))


def test_a_run_that_writes_two_names_of_a_dataset_counts_once(store: LineageStore) -> None:
    other = DatasetField(Dataset("ns", "other"), "f")
    edges = [Edge(chain_field(0), end, True) for end in (chain_field(1), other)]
    edges.append(Edge(chain_field(0), DatasetField(other.dataset, "g"), True))
    store.record([Run("1", NOON_MS, tuple(edges)).recorded()])
    store.put_metadata([DatasetMetadata(other.dataset, aliases=(chain_field(1).dataset,))])
    report = store.retention_report(QUERY)
    assert {item.path[-1].name for item in report.fields} == {"f", "g"}
    assert [[program.runs for program in item.written.programs] for item in report.fields] == [[1], [1]]
