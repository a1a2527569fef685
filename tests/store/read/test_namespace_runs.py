"""Runs of a namespace: those of an oracle over any history, at a cost that follows the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import layout
from fll_hbase.model import run_events
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.run_events import (
    DatasetMention,
    EventLineage,
    EventRunFacts,
    EventType,
    IncomingEvent,
)
from fll_hbase.model.runs import ProgramRun, RecordedRun, State, run_key
from fll_hbase.model.window import Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import CorruptRow, DeadlineExceeded, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.query_parameters import RunsQuery
from fll_hbase.store.read import namespace_runs
from fll_hbase.tables import CellKey, Put, Row, Scan, Table, open_table
from tests.support import audit_runner
from tests.support.small_world import CONTENTS

NAMESPACES = ("etl", "etl2", "n|s/ 🙂")
PROGRAMS = ("load", "bill", "a|b % 🙂")
RUNS = ("run-1", "run/2|", "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c", "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8d")
EVENT_RUNS = ("event 1", "9187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c")
STARTS_MS = (1_000, 1_001, 1_002, 90_000_000)
LATER_MS = 4_000_000_000_000
ALWAYS = Window(0, LATER_MS)

documents = st.builds(
    RecordedRun,
    st.builds(
        ProgramRun,
        st.sampled_from(NAMESPACES),
        st.just("app"),
        st.just("1"),
        st.just("spark"),
        st.sampled_from(PROGRAMS),
        st.sampled_from(RUNS),
        st.sampled_from(STARTS_MS),
        st.sampled_from(State),
    ),
    st.sampled_from(CONTENTS),
)


def event_body(namespace: str, job: str) -> EventLineage:
    mentions = (DatasetMention(0, True), DatasetMention(1, False))
    return EventLineage(namespace, job, "spark", (("db", "a"), ("db", "b")), mentions)


events = st.builds(
    lambda run, start, kind, namespace, job: run_events.make_event(
        run, start, kind, event_body(namespace, job), EventRunFacts()
    ),
    st.sampled_from(EVENT_RUNS),
    st.sampled_from(STARTS_MS),
    st.sampled_from((EventType.START, EventType.COMPLETE, EventType.FAIL)),
    st.sampled_from(NAMESPACES),
    st.sampled_from(PROGRAMS),
)
histories = st.lists(documents | events, max_size=14)
windows = st.lists(st.sampled_from((0, 1_001, 1_002, 1_003, LATER_MS)), min_size=2, max_size=2).map(
    lambda ends: Window(*sorted(ends))
)
queries = st.builds(
    RunsQuery,
    st.sampled_from(("", *NAMESPACES)),
    windows,
    st.sampled_from(("", "", *PROGRAMS, "never")),
    st.sampled_from((None, None, *State)),
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A run as the list has it."""

    namespace: str
    program: str
    run: str
    start_ms: int
    state: State


def expected_runs(history: Sequence[RecordedRun | IncomingEvent]) -> list[Expected]:
    """The last document of each run, or all its events merged, by plain loops."""
    last = {item.run.run: item.run for item in history if isinstance(item, RecordedRun)}
    sent: dict[str, list[IncomingEvent]] = {}
    for item in history:
        if isinstance(item, IncomingEvent):
            sent.setdefault(item.run, []).append(item)
    documents_of = [Expected(r.namespace, r.program, r.run, r.start_ms, r.state) for r in last.values()]
    return documents_of + [merged(run, group) for run, group in sent.items()]


def merged(run: str, group: Sequence[IncomingEvent]) -> Expected:
    order = [EventType.START, EventType.COMPLETE, EventType.FAIL]
    newest = max(
        group,
        key=lambda item: (item.event.time_ms, order.index(item.event.type), item.event.lineage_digest),
    )
    body = run_events.decode_lineage(newest.bodies[newest.event.lineage_digest])
    kinds = {item.event.type for item in group}
    begun = [item.event.time_ms for item in group if item.event.type is EventType.START]
    state = State.FAIL if EventType.FAIL in kinds else State.COMPLETE
    state = state if kinds != {EventType.START} else State.RUNNING
    start_ms = min(begun or [item.event.time_ms for item in group])
    return Expected(body.namespace, body.job, run, start_ms, state)


def admits(query: RunsQuery, run: Expected) -> bool:
    return (
        query.namespace in ("", run.namespace)
        and run.start_ms in query.window
        and query.program in ("", run.program)
        and query.state in (None, run.state)
    )


def all_pages(
    store: LineageStore, query: RunsQuery, limit: int, start_after: bytes = b""
) -> Iterator[Expected]:
    while True:
        page = store.namespace_runs(query, limit=limit, start_after=start_after)
        assert len(page.runs) <= limit
        assert not page.truncated_by
        for listed in page.runs:
            run = listed.run
            yield Expected(run.namespace, run.program, run.run, run.start_ms, run.state)
        if not page.next_after:
            return
        start_after = page.next_after


def check(
    store: LineageStore, history: Sequence[RecordedRun | IncomingEvent], query: RunsQuery, limit: int
) -> None:
    runs = expected_runs(history)
    wanted = [run for run in runs if admits(query, run)]
    wanted.sort(key=lambda run: layout.run_index_tail(run.start_ms, *run_key(run.run, run.namespace)))
    try:
        assert list(all_pages(store, query, limit)) == wanted
    except NotFound:
        assert query.namespace not in {run.namespace for run in runs}
        assert query.namespace


@given(histories, st.lists(queries, min_size=1, max_size=4), st.integers(1, 5))
def test_the_list_is_that_of_the_oracle(
    history: list[RecordedRun | IncomingEvent], questions: list[RunsQuery], limit: int
) -> None:
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    for item in history:
        # Whatever program recorded the run before.
        store.record([replace(item, replaces_others=True) if isinstance(item, RecordedRun) else item])
    for query in questions:
        check(store, history, query, limit)
    # No error, and of a run that was replaced at the same start at most a note.
    assert audit_runner.wrong(audit_runner.findings(table)) == set()
    garbage = garbage_collection.find_garbage(table, RetentionPolicy(), until_ms=LATER_MS)
    garbage_collection.remove(table, garbage, RetentionPolicy(), until_ms=LATER_MS)
    for query in questions:
        check(LineageStore(table), history, query, limit)
    assert audit_runner.wrong(audit_runner.findings(table)) == set()


UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"


def document(
    number: int, *, namespace: str = "etl", program: str = "load", state: State = State.COMPLETE
) -> RecordedRun:
    run = ProgramRun(namespace, "app", "1", "spark", program, f"run-{number:05}", 1_000 + number, state)
    return RecordedRun(run, CONTENTS[0])


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


def index_rows(table: Table) -> list[bytes]:
    return [key for key, _ in table.scan(b"n|", b"n}")]


class TestRetention:
    def test_a_purged_run_leaves_no_row(self, table: Table) -> None:
        LineageStore(table).record([document(1), document(2), document(3)])
        policy = RetentionPolicy(1_003)
        garbage_collection.purge(table, policy, until_ms=LATER_MS, grace_ms=0)
        garbage = garbage_collection.find_garbage(table, policy, until_ms=LATER_MS)
        garbage_collection.remove(table, garbage, policy, until_ms=LATER_MS)
        assert index_rows(table) == [b"n|etl|" + layout.run_index_tail(1_003, "run-00003", "etl")]

    def test_a_run_that_starts_at_another_time_leaves_no_row(self, table: Table) -> None:
        store = LineageStore(table)
        store.record([document(1)])
        later = document(1)
        store.record([RecordedRun(replace(later.run, start_ms=2_000), later.info)])
        assert len(index_rows(table)) == 2
        garbage = garbage_collection.find_garbage(table, RetentionPolicy(), until_ms=LATER_MS)
        garbage_collection.remove(table, garbage, RetentionPolicy(), until_ms=LATER_MS)
        assert index_rows(table) == [b"n|etl|" + layout.run_index_tail(2_000, "run-00001", "etl")]

    def test_a_cursor_stays_valid_when_its_run_is_purged(self, table: Table) -> None:
        store = LineageStore(table)
        store.record([document(number) for number in range(4)])
        query = RunsQuery("etl", ALWAYS)
        page = store.namespace_runs(query, limit=2)
        policy = RetentionPolicy(LATER_MS)
        garbage_collection.purge(table, policy, until_ms=LATER_MS, grace_ms=0)
        store.record([document(0), document(1)])
        left = store.namespace_runs(query, limit=2, start_after=page.next_after)
        assert [listed.run.start_ms for listed in left.runs] == [1_001, 1_000]


class TestAudit:
    def test_runs_without_a_row_are_repaired(self, table: Table) -> None:
        """Runs that an earlier release recorded have none."""
        store = LineageStore(table)
        event = run_events.make_event("e", 5_000, EventType.START, event_body("etl2", "job"), EventRunFacts())
        store.record([document(1), document(2, state=State.FAIL), event])
        recorded = index_rows(table)
        table.delete([cell for key in recorded for cell in cells_of(table, key)], until_ms=LATER_MS)
        with pytest.raises(NotFound, match="repair"):
            store.namespace_runs(RunsQuery("etl", ALWAYS), limit=10)
        missing = audit_runner.findings(table)
        assert {finding.kind.value for finding in missing} == {"missing in the run index"}
        assert [finding.row for finding in missing] == recorded
        assert audit_runner.repaired(table) == []
        assert index_rows(table) == recorded
        assert len(store.namespace_runs(RunsQuery("", ALWAYS), limit=10).runs) == 3

    @pytest.mark.parametrize(
        ("key", "kind"),
        [
            (b"n|etl|" + layout.run_index_tail(7, "gone", "etl"), "run index without run"),
            (b"n|etl|" + layout.run_index_tail(9, "run-00001", "etl"), "run index without run"),
            (b"n|etl|123|run-00001", "unreadable"),
            (b"n|etl", "unreadable"),
        ],
        ids=["of no run", "of another start", "bad start", "no tail"],
    )
    def test_a_row_that_no_run_needs_is_reported(self, table: Table, key: bytes, kind: str) -> None:
        LineageStore(table).record([document(1)])
        table.write([[Put(key, b"d:n00", b"")]])
        [finding] = audit_runner.findings(table)
        assert (finding.kind.value, finding.row) == (kind, key)

    def test_a_row_in_another_namespace_stays_as_long_as_its_run(self, table: Table) -> None:
        """It is what a run leaves whose program changed, with an id of all namespaces; lists ignore it."""
        store = LineageStore(table)
        for namespace in ("etl", "other"):
            document_of_all = document(1, namespace=namespace)
            run = replace(document_of_all.run, run=UUID)
            store.record([replace(document_of_all, run=run, replaces_others=True)])
        assert len(index_rows(table)) == 2
        assert audit_runner.findings(table) == []
        assert store.namespace_runs(RunsQuery("etl", ALWAYS), limit=10).runs == ()
        policy = RetentionPolicy(LATER_MS)
        garbage_collection.purge(table, policy, until_ms=LATER_MS, grace_ms=0)
        assert "run index without run" in {finding.kind.value for finding in audit_runner.findings(table)}
        garbage = garbage_collection.find_garbage(table, policy, until_ms=LATER_MS)
        garbage_collection.remove(table, garbage, policy, until_ms=LATER_MS)
        assert index_rows(table) == []

    def test_a_row_with_another_program_lacks_that_of_the_run(self, table: Table) -> None:
        LineageStore(table).record([document(1)])
        [key] = index_rows(table)
        table.delete(cells_of(table, key), until_ms=LATER_MS)
        table.write([[Put(key, layout.run_index_column("other"), b"")]])
        assert {finding.kind.value for finding in audit_runner.findings(table)} == {
            "missing in the run index"
        }
        assert audit_runner.repaired(table) == []

    def test_lists_ignore_rows_of_other_starts_and_namespaces(self, table: Table) -> None:
        store = LineageStore(table)
        store.record([document(1)])
        tails = (
            layout.run_index_tail(1_001, "run-00001", "etl"),
            layout.run_index_tail(7, "run-00001", "etl"),
        )
        column = layout.run_index_column("load")
        table.write([[Put(b"n|other|" + tail, column, b"") for tail in tails]])
        assert store.namespace_runs(RunsQuery("other", ALWAYS), limit=10).runs == ()
        assert len(store.namespace_runs(RunsQuery("", ALWAYS), limit=10).runs) == 1

    def test_an_unreadable_row_is_no_list_without_it(self, table: Table) -> None:
        store = LineageStore(table)
        store.record([document(1)])
        table.write([[Put(b"n|etl|7ffffeb00e9b862f|%7c", b"d:n00", b"")]])
        with pytest.raises(CorruptRow):
            store.namespace_runs(RunsQuery("etl", ALWAYS), limit=10)


class Counting:
    """A table that counts the rows that it returns, by the letter of their keys."""

    parallel_calls = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self.read: dict[str, int] = {}
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def _count(self, keys: Sequence[bytes]) -> None:
        self.calls += 1
        for key in keys:
            letter = key[:1].decode()
            self.read[letter] = self.read.get(letter, 0) + 1

    def rows(self, keys: Sequence[bytes], **more: object) -> dict[bytes, Row]:
        rows = self._table.rows(keys, **more)  # type: ignore[arg-type]
        self._count(list(rows))
        return rows

    def scan(self, *bounds: bytes, **more: object) -> Iterator[tuple[bytes, Row]]:
        rows = list(self._table.scan(*bounds, **more))  # type: ignore[arg-type]
        self._count([key for key, _ in rows])
        return iter(rows)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        many = self._table.scan_many(scans)
        self._count([key for rows in many for key, _ in rows])
        return many


class TestCost:
    LIMIT = 10

    def cost(self, table: Table, query: RunsQuery) -> Counting:
        counting = Counting(table)
        page = LineageStore(counting).namespace_runs(query, limit=self.LIMIT)  # type: ignore[arg-type]
        assert len(page.runs) == self.LIMIT
        assert page.next_after
        return counting

    @pytest.mark.parametrize("history", [20, 400])
    def test_a_page_reads_as_many_rows_as_it_has_runs(self, table: Table, history: int) -> None:
        LineageStore(table).record([document(number) for number in range(history)])
        counting = self.cost(table, RunsQuery("etl", ALWAYS))
        assert counting.read == {"n": self.LIMIT + 2, "r": self.LIMIT + 1}
        assert counting.calls == 2

    @pytest.mark.parametrize("history", [40, 400])
    def test_over_all_namespaces_rows_follow_the_page_and_the_namespaces(
        self, table: Table, history: int
    ) -> None:
        namespaces = 5
        LineageStore(table).record(
            [document(number, namespace=f"n{number % namespaces}") for number in range(history)]
        )
        counting = self.cost(table, RunsQuery("", ALWAYS))
        assert counting.read["r"] == self.LIMIT + 1
        # One to list each namespace, and the first rows of each.
        assert counting.read["n"] <= namespaces * (1 + namespace_runs.FIRST_RUNS)
        assert counting.calls <= namespaces + 3

    def test_one_busy_namespace_costs_no_more_than_twice_its_page(self, table: Table) -> None:
        quiet = [document(number, namespace=f"quiet{number}") for number in range(5)]
        LineageStore(table).record([*quiet, *(document(number) for number in range(100, 500))])
        counting = self.cost(table, RunsQuery("", ALWAYS))
        assert counting.read["n"] <= 2 * 6 + 3 * namespace_runs.FIRST_RUNS

    def test_a_filter_ends_a_page_after_a_bounded_number_of_rows(
        self, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(namespace_runs, "EXAMINED_MAX", 50)
        rare = document(0, program="rare", state=State.FAIL)
        LineageStore(table).record([rare, *(document(number) for number in range(1, 300))])
        for query in (RunsQuery("etl", ALWAYS, program="rare"), RunsQuery("etl", ALWAYS, state=State.FAIL)):
            counting = Counting(table)
            store = LineageStore(counting)  # type: ignore[arg-type]
            page = store.namespace_runs(query, limit=2)
            assert page.runs == ()
            assert page.next_after
            assert counting.read["n"] <= 2 * 96
            assert [run.run for run in all_pages(store, query, 2)] == ["run-00000"]

    def test_at_the_deadline_a_page_is_short(self, table: Table) -> None:
        rare = document(0, state=State.FAIL)
        LineageStore(table).record([rare, *(document(number) for number in range(1, 300))])
        query = RunsQuery("etl", ALWAYS, state=State.FAIL)
        counting = Counting(table)
        store = LineageStore(counting)  # type: ignore[arg-type]
        with deadline.limited(60, is_cancelled=lambda: counting.calls >= 3):
            page = store.namespace_runs(query, limit=2)
        assert page.runs == ()
        assert page.next_after
        assert [run.run for run in all_pages(store, query, 2, page.next_after)] == ["run-00000"]
        with deadline.limited(60, is_cancelled=lambda: True), pytest.raises(DeadlineExceeded):
            store.namespace_runs(query, limit=2)

    def test_a_filter_by_program_reads_no_rows_of_other_programs(self, table: Table) -> None:
        LineageStore(table).record(
            [document(number, program="bill" if number % 100 == 0 else "load") for number in range(300)]
        )
        counting = Counting(table)
        store = LineageStore(counting)  # type: ignore[arg-type]
        assert len(list(all_pages(store, RunsQuery("etl", ALWAYS, program="bill"), 10))) == 3
        assert counting.read["r"] == 3

    def test_too_many_namespaces_truncate_the_list(
        self, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(namespace_runs, "NAMESPACES_MAX", 2)
        LineageStore(table).record([document(number, namespace=f"n{number}") for number in range(3)])
        page = LineageStore(table).namespace_runs(RunsQuery("", ALWAYS), limit=10)
        assert page.truncated_by == ("namespaces_max=2",)
        assert [listed.run.namespace for listed in page.runs] == ["n1", "n0"]


def cells_of(table: Table, key: bytes) -> list[CellKey]:
    return [CellKey(key, column) for column in table.get(key)]
