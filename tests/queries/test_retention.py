"""Retention reports at the deadline: what was not looked up makes a report incomplete, it is not lost."""

from __future__ import annotations

import pytest

from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.model.window import DAY_MS
from fll_hbase.queries.retention import Retention, RetentionReportAnswer
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.cancellation import let_each_look_take_a_second
from tests.support.reach_histories import NOON_MS, chain_field, copy_chain

DEPTH = 3
REPORT = Retention("gdpr", namespace="ns")


def within(store: LineageStore, seconds: int) -> RetentionReportAnswer | None:
    """The report in so many seconds, None if there was not enough time for its first part."""
    try:
        with deadline.limited(seconds):
            return REPORT.answer(LineageStore(store.table), now_ms=NOON_MS + DAY_MS).body
    except DeadlineExceeded:
        return None


def test_a_policy_that_holds_is_not_lost_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    store.record([run.recorded() for run in copy_chain(DEPTH)])
    store.policies.put(AgePolicy("gdpr", parse_max_age("10d"), "", chain_field(0), "", 0))
    let_each_look_take_a_second(monkeypatch)
    answers = [within(store, seconds) for seconds in range(1, 300)]
    first = next(number for number, body in enumerate(answers) if body)
    verdicts = {body.verdict[:5]: body.truncated for body in answers[first:] if body}
    assert None not in answers[first:]
    assert verdicts == {"Not k": True, "Kept:": False}
    store.close()
