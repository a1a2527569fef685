"""The deadline of a request: it ends every wait, truncates a walk, and leaves what has none alone."""

from __future__ import annotations

import fcntl
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import from_environment
from fll_hbase.runtime.errors import (
    ConfigurationError,
    DeadlineExceeded,
    LineageError,
    NotFound,
    StoreUnavailable,
)
from fll_hbase.runtime.retry import RetryPolicy
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import CommitResult
from fll_hbase.store.write.batching import RunInput
from fll_hbase.store.write.group_commit import GroupCommit
from fll_hbase.tables import Table, open_table
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.thrift_pool import DeadlineSocket, ThriftPool
from tests.support.cancellation import cancelled_after
from tests.support.waiting import PATIENCE_SECONDS, patience

SECONDS = 0.3
TIMEOUT_MS = int(10_000 * PATIENCE_SECONDS)
"""Of a store that hangs: longer than a test waits."""

EVER = Window(0, 2**62)
HOPS = 6


@pytest.fixture
def chain() -> Iterator[LineageStore]:
    """A store in which d0 leads to d1, d1 to d2, and so on."""
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    ingest(store, [parsed(f"d{number}", f"d{number + 1}") for number in range(HOPS)])
    yield store
    store.close()


def parsed(source: str, destination: str) -> ParsedDocument:
    """A run that copies one field from a dataset to another."""
    document = {
        "run": {"application": "a", "type": "t", "program": "p", "run": source, "startTime": 1},
        "operations": [
            {"type": "READ", "name": "r", "source": {"name": source}, "outputs": ["x"]},
            {
                "type": "WRITE",
                "name": "w",
                "destination": {"name": destination},
                "inputs": [{"origin": "r", "name": "x"}],
            },
        ],
    }
    reader = DocumentReader(columns=lambda _: None)
    return reader.read(json.dumps(document).encode(), format_named("lineage"), namespace="ns", now_ms=1)


def recorded_run(name: str) -> RecordedRun:
    (run,) = parsed(name, "x").runs
    assert isinstance(run, RecordedRun)
    return run


@contextmanager
def silent_gateway() -> Iterator[str]:
    """The URL of a gateway that accepts connections and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"hbase://127.0.0.1:{listening.getsockname()[1]}/t"


@contextmanager
def trickling_gateway() -> Iterator[str]:
    """The URL of a gateway that answers one byte of a long message at a time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection:
                # A reply of Thrift's strict binary protocol with a very long name.
                for byte in b"\x80\x01\x00\x02" + (2**20).to_bytes(4) + b"x" * 10_000:
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(SECONDS / 10)

        threading.Thread(target=trickle, daemon=True).start()
        yield f"hbase://127.0.0.1:{listening.getsockname()[1]}/t"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The lock file as a stopped writer has it."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def ends_in_time() -> Iterator[None]:
    began = time.monotonic()
    with (
        patience(),
        deadline.limited(SECONDS),
        pytest.raises(DeadlineExceeded, match=f"the {SECONDS:g} s of this request"),
    ):
        yield
    assert time.monotonic() - began >= SECONDS / 2


@pytest.mark.parametrize("gateway", [silent_gateway, trickling_gateway])
def test_a_gateway_that_hangs(gateway: Callable[[], AbstractContextManager[str]]) -> None:
    with gateway() as url:
        table = open_table(url, timeout_ms=TIMEOUT_MS)
        with ends_in_time():
            table.get(b"row")
        table.close()


def test_a_thread_that_is_stopped_before_its_call_waits_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not that much less, which would be an error of the gateway."""
    timeout_for_call = ThriftPool._timeout_for_call

    def stopped(pool: ThriftPool, now: float) -> float:
        time.sleep(SECONDS / 3)
        return timeout_for_call(pool, now)

    monkeypatch.setattr(ThriftPool, "_timeout_for_call", stopped)
    test_a_gateway_that_hangs(silent_gateway)


@pytest.mark.slow
def test_connections_that_are_all_in_use() -> None:
    with silent_gateway() as url:
        table = open_table(url, connections_max=1, timeout_ms=3_000)

        def use_the_connection() -> None:
            with suppress(StoreUnavailable):
                table.get(b"row")

        other = threading.Thread(target=use_the_connection)
        other.start()
        time.sleep(0.1)
        with ends_in_time():
            table.get(b"row")
        other.join()
        table.close()


def test_a_short_deadline_is_no_failure_of_the_gateway() -> None:
    with silent_gateway() as url:
        table: Table = open_table(url)
        with ends_in_time():
            table.get(b"row")
        assert not table._pool._failed_until  # type: ignore[attr-defined]
        table.close()


def test_an_answer_is_not_read_beyond_the_deadline_however_fast_it_arrives() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"reply")
        connection = DeadlineSocket(sock=ours)
        connection.deadline = time.monotonic() + 60
        assert connection.read(3) == b"rep"
        connection.deadline = time.monotonic()
        with pytest.raises(TimeoutError):
            connection.read(2)


def test_a_write_lock_that_another_process_has(tmp_path: Path) -> None:
    table = SqliteTable(str(tmp_path / "store.db"))
    with locked(tmp_path / "store.db.lock"), ends_in_time():
        table.write([])
    table.close()


@pytest.mark.slow
def test_a_scan_that_skips_everything(tmp_path: Path) -> None:
    table = open_table(f"sqlite:///{tmp_path}/store.db")
    store = LineageStore(table)
    ingest(store, [parsed(f"d{number}", "x") for number in range(500)])
    # The engine checks every so many instructions, of which each join of the table with itself takes more.
    assert isinstance(table, SqliteTable)
    with deadline.limited(SECONDS), pytest.raises(DeadlineExceeded):
        table._read(
            lambda reader: reader.execute(
                "SELECT count(*) FROM cells a, cells b, cells c WHERE a.stamp + b.stamp + c.stamp = 0"
            )
        )
    assert table.get(b"never") == {}, "the connection is as good as before"
    store.close()


def test_a_deadline_that_has_passed_ends_before_the_store(chain: LineageStore) -> None:
    with deadline.limited(0.0):
        for question in (
            lambda: chain.lineage(Dataset("ns", "d0"), EVER),
            lambda: chain.record_one(recorded_run("late")),
            lambda: chain.record([recorded_run("late")]),
            chain.ready,
        ):
            with pytest.raises(DeadlineExceeded):
                question()
    with pytest.raises(NotFound):
        chain.run("late")


def test_a_walk_is_truncated_between_hops(chain: LineageStore) -> None:
    start = Dataset("ns", "d0")
    complete = chain.lineage(start, EVER, directions=(Direction.FORWARD,), level=HOPS)
    assert not complete.truncated_by
    lengths = set()
    for checks in range(200):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)):
            try:
                result = chain.lineage(start, EVER, directions=(Direction.FORWARD,), level=HOPS)
            except DeadlineExceeded:
                lengths.add(0)
                continue
        lengths.add(len(result.entries))
        assert result.entries == complete.entries[: len(result.entries)]
        assert result.truncated_by == (("request_seconds=60",) if len(result.entries) < HOPS else ())
    assert lengths == set(range(HOPS + 1)), "the walk ended after each number of hops"


def test_a_walk_is_truncated_between_the_contents_of_a_dataset() -> None:
    """Answers have what was merged of them, and not cached: the next answer has all of them."""
    table = open_table("sqlite:///:memory:")
    ingest(LineageStore(table), [parsed(f"d{number}", "x") for number in range(HOPS)])
    start = Dataset("ns", "x")
    complete = LineageStore(table).lineage(start, EVER, directions=(Direction.BACKWARD,))
    assert len(complete.entries) == HOPS
    lengths = set()
    for checks in range(60):
        store = LineageStore(table)
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            result = store.lineage(start, EVER, directions=(Direction.BACKWARD,))
            lengths.add(len(result.entries))
            assert set(result.entries) <= set(complete.entries)
            assert result.truncated_by == (("request_seconds=60",) if len(result.entries) < HOPS else ())
        assert store.lineage(start, EVER, directions=(Direction.BACKWARD,)) == complete
    assert lengths == set(range(1, HOPS + 1))
    table.close()


@pytest.mark.parametrize("simple", [False, True])
def test_the_graph_of_a_field_is_truncated_between_contents(simple: bool) -> None:
    table = open_table("sqlite:///:memory:")
    ingest(LineageStore(table), [parsed(f"d{number}", "x") for number in range(HOPS)])
    field = DatasetField(Dataset("ns", "x"), "x")
    complete = LineageStore(table).field_lineage(field, EVER, simple=simple)
    lengths = set()
    for checks in range(100):
        store = LineageStore(table)
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            result = store.field_lineage(field, EVER, simple=simple)
            lengths.add(len(result.graph.nodes))
            assert result.checksums == complete.checksums, "those of the newest runs are merged first"
            assert result.graph.nodes.items() <= complete.graph.nodes.items()
            assert result.truncated_by == (
                ("request_seconds=60",) if len(result.graph.nodes) < len(complete.graph.nodes) else ()
            )
        assert store.field_lineage(field, EVER, simple=simple) == complete
    assert len(lengths) == HOPS, "it ended after each number of contents"
    table.close()


def test_derivations_of_a_field_are_truncated_between_runs() -> None:
    table = open_table("sqlite:///:memory:")
    ingest(LineageStore(table), [parsed(f"d{number}", "x") for number in range(HOPS)])
    field = DatasetField(Dataset("ns", "x"), "x")
    complete = LineageStore(table).field_derivations(field, EVER).derivations
    lengths = set()
    for checks in range(100):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            result = LineageStore(table).field_derivations(field, EVER)
            lengths.add(len(result.derivations))
            assert result.derivations == complete[: len(result.derivations)]
            is_cut = len(result.derivations) < HOPS
            assert result.truncated_by == (("request_seconds=60",) if is_cut else ())
    assert lengths == set(range(1, HOPS + 1))
    table.close()


def test_known_edges_are_not_lost_if_no_time_is_left_to_explain_them(chain: LineageStore) -> None:
    start = DatasetField(Dataset("ns", "d0"), "x")
    edges = chain.reach(ReachQuery(start, EVER, Direction.FORWARD)).edges
    truncated_by: set[str] = set()
    assert len(chain.hops(edges, truncated_by)) == HOPS
    with deadline.limited(0.0):
        assert chain.hops(edges, truncated_by) == {}
    assert truncated_by == {"request_seconds=0"}


def test_a_commit_that_was_cut_off_anywhere_can_be_sent_again() -> None:
    interrupted = 0
    for checks in range(40):
        table = open_table("sqlite:///:memory:")
        store = LineageStore(table)
        with deadline.limited(60, is_cancelled=cancelled_after(checks)):
            try:
                store.record_one(recorded_run("d0"))
            except DeadlineExceeded:
                interrupted += 1
        store.record_one(recorded_run("d0"))
        (listed,) = store.runs(Dataset("ns", "d0"), EVER, limit=10).runs
        assert listed.run.run == "d0"
        store.close()
    assert interrupted >= 10, "in all steps"


def test_a_member_of_a_group_outlives_the_deadline_of_the_thread_that_commits() -> None:
    """The first commit gathers the two others; theirs is over at the deadline of the one that leads it."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    entered, gathered = threading.Event(), threading.Event()
    group_sizes: list[int] = []

    def record(runs: Sequence[RunInput]) -> list[CommitResult | LineageError]:
        group_sizes.append(len(runs))
        if len(group_sizes) == 1:
            entered.set()
            gathered.wait()
        if len(group_sizes) == 2:
            raise DeadlineExceeded("that of the thread that commits")
        return store.record(runs)

    group = GroupCommit(record)
    with ThreadPoolExecutor(3) as threads:
        results = [threads.submit(group.record, recorded_run("d0"))]
        entered.wait()
        results += [threads.submit(group.record, recorded_run(f"d{number}")) for number in (1, 2)]
        while len(group._queue) < 2:
            time.sleep(0.001)
        gathered.set()
    errors = [result.exception() for result in results]
    assert errors[0] is None
    assert sorted(type(error).__name__ for error in errors[1:]) == ["DeadlineExceeded", "NoneType"]
    assert group_sizes == [1, 2, 1]
    store.close()


def test_retries_do_not_wait_beyond_the_deadline() -> None:
    attempts = 0

    def operation() -> None:
        nonlocal attempts
        attempts += 1
        raise StoreUnavailable("away")

    policy = RetryPolicy(attempts_max=5, wait_first_seconds=30.0)
    with deadline.limited(SECONDS), pytest.raises(StoreUnavailable, match="away"):
        policy.retrying(StoreUnavailable)(operation)
    assert attempts == 1


def test_what_has_no_request_has_no_deadline() -> None:
    deadline.check()
    assert deadline.seconds_left(7.0) == 7.0
    assert not deadline.is_over(in_seconds=1e9)
    with deadline.renewed():
        assert deadline.seconds_left(7.0) == 7.0


def test_a_part_of_a_request_has_the_whole_time_again() -> None:
    with deadline.limited(SECONDS, began=time.monotonic() - SECONDS):
        assert deadline.is_over()
        with deadline.renewed():
            assert 0 < deadline.seconds_left(60) <= SECONDS
        assert deadline.is_over()


@pytest.mark.parametrize("name", ["FLL_REQUEST_SECONDS", "FLL_THREADS"])
def test_a_setting_with_which_no_request_would_be_answered(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}=.0.: expected 1 or more"):
        from_environment({name: "0"})
    assert from_environment({name: "1"})
