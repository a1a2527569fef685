"""Lanes of request threads: what runs, waits and is refused, and the readiness that never waits."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.clients import LONG_SECONDS
from api.http.dispatcher import WAITING_MAX, Dispatcher, Lane
from api.routes import health
from api.routes.health import Readiness
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.waiting import PATIENCE_SECONDS, eventually

LATER = 600.0
"""A deadline that no test reaches, in seconds from now."""


class Job:
    """A request that begins and ends when the test says so."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name
        self.began, self.may_end, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.refusal = ""

    def service(self) -> None:
        self.log.append(self.name)
        self.began.set()
        if not self.refusal:
            self.may_end.wait(PATIENCE_SECONDS)
        self.ended.set()

    def refuse(self, detail: str) -> None:
        self.refusal = detail

    def end(self) -> None:
        self.may_end.set()
        assert self.ended.wait(PATIENCE_SECONDS)


class Requests:
    """Requests to a dispatcher, by default of four threads; a lane uses three."""

    def __init__(self, *, threads: int = 4) -> None:
        self.dispatcher = Dispatcher(threads=threads, request_seconds=10)
        self.dispatcher.start()
        self.log: list[str] = []
        self.jobs: list[Job] = []

    def add(self, lane: Lane, name: str = "", *, client: str = "a", seconds: float = LATER) -> Job:
        job = Job(self.log, name)
        self.jobs.append(job)
        self.dispatcher.add(job, lane, client, deadline=time.monotonic() + seconds)
        return job

    def fill(self, lane: Lane) -> list[Job]:
        """As many running requests of one client as the lane may have."""
        jobs = [self.add(lane) for _ in range(lane.threads_max)]
        assert all(job.began.wait(PATIENCE_SECONDS) for job in jobs)
        return jobs

    def fill_spare(self, lane: Lane) -> None:
        """A running request of another client, for which a thread is kept."""
        assert self.add(lane, client="b").began.wait(PATIENCE_SECONDS)

    def end_all(self) -> None:
        for job in self.jobs:
            job.may_end.set()


@pytest.fixture
def requests() -> Iterator[Requests]:
    requests = Requests()
    yield requests
    requests.end_all()


def test_each_lane_leaves_a_thread_to_the_other(requests: Requests) -> None:
    reads, writes = requests.dispatcher.reads, requests.dispatcher.writes
    running = requests.fill(writes)
    waiting = requests.add(writes)
    assert requests.add(reads).began.wait(PATIENCE_SECONDS)
    assert not waiting.began.is_set()
    running[0].end()
    assert waiting.began.wait(PATIENCE_SECONDS)


def test_requests_of_a_lane_begin_in_order(requests: Requests) -> None:
    lane = requests.dispatcher.reads
    running = requests.fill(lane)
    names = [f"{number}" for number in range(20)]
    for name in names:
        requests.add(lane, name).may_end.set()
    running[0].end()
    assert requests.jobs[-1].ended.wait(PATIENCE_SECONDS)
    assert requests.log[3:] == names


def test_a_request_that_would_wait_too_long_is_refused_at_once(requests: Requests) -> None:
    lane = requests.dispatcher.writes
    running = requests.fill(lane)
    # The only measure while none of them ends is how long they have been running.
    time.sleep(0.2)
    assert not requests.add(lane, seconds=LATER).refusal
    refused = requests.add(lane, seconds=0.1)
    assert "1 requests wait already" in refused.refusal
    assert refused.ended.wait(PATIENCE_SECONDS), "answered although no request thread is free"
    assert not requests.add(requests.dispatcher.reads, seconds=0.1).refusal, "the other lane has a thread"
    running[0].end()


def test_the_mean_time_of_a_lane_counts_as_well(requests: Requests) -> None:
    lane = requests.dispatcher.reads
    lane.mean_seconds = 30.0
    running = requests.add(lane, seconds=1)
    assert not running.refusal, "a free thread needs no estimate"
    requests.add(lane)
    requests.add(lane)
    assert requests.add(lane, seconds=9).refusal
    assert not requests.add(lane, seconds=LATER).refusal


def test_a_batch_counts_as_one_request() -> None:
    lane = Lane(threads_max=1, client_max=1)
    lane.note(600.0, seconds_max=10)
    assert lane.mean_seconds == pytest.approx(1.0)


@pytest.mark.slow
def test_as_many_wait_as_there_may(requests: Requests) -> None:
    lane = requests.dispatcher.reads
    requests.fill(lane)
    # The estimate of a slow machine is no reason to refuse: only how many wait is.
    assert not any(requests.add(lane, seconds=WAITING_MAX * LATER).refusal for _ in range(WAITING_MAX))
    assert requests.add(lane, seconds=WAITING_MAX * LATER).refusal


def test_a_request_is_refused_at_its_deadline_without_a_thread(requests: Requests) -> None:
    lane = requests.dispatcher.writes
    requests.fill(lane)
    seconds = 0.05
    # On a slow machine those that run have been running for long, so that it would be refused at once.
    while (early := requests.add(lane, seconds=seconds)).refusal:
        seconds *= 2
    late = requests.add(lane, seconds=LATER)
    time.sleep(seconds)
    requests.dispatcher.refuse_late()
    assert early.ended.wait(PATIENCE_SECONDS)
    assert "no thread became free" in early.refusal
    assert not late.refusal


class TestShares:
    """Clients that are many, large or patient, beside others."""

    @pytest.mark.parametrize("name", ["reads", "writes", "read_batches", "write_batches"])
    def test_a_client_that_runs_nothing_finds_a_thread(self, requests: Requests, name: str) -> None:
        lane = getattr(requests.dispatcher, name)
        requests.fill(lane)
        waiting = [requests.add(lane) for _ in range(5)]
        assert requests.add(lane, client="b").began.wait(PATIENCE_SECONDS)
        assert not any(job.began.is_set() for job in waiting)

    def test_those_who_wait_take_turns(self, requests: Requests) -> None:
        lane = requests.dispatcher.writes
        running = requests.fill(lane)
        first = requests.add(lane, client="b")
        assert first.began.wait(PATIENCE_SECONDS)
        for client in "aaaabbbbc":
            requests.add(lane, client, client=client).may_end.set()
        # All that begin end at once, in the thread that `b` used: `a` runs more than its share.
        first.end()
        assert all(job.ended.wait(PATIENCE_SECONDS) for job in requests.jobs[-5:])
        assert [name for name in requests.log if name] == ["b", "c", "b", "b", "b"]
        running[0].end()
        assert all(job.ended.wait(PATIENCE_SECONDS) for job in requests.jobs[4:])

    def test_batches_leave_threads_to_documents_of_their_client(self) -> None:
        requests = Requests(threads=8)
        batches, documents = requests.dispatcher.write_batches, requests.dispatcher.writes
        requests.fill(batches)
        assert not requests.add(batches).began.is_set()
        assert requests.add(documents).began.wait(PATIENCE_SECONDS)
        requests.end_all()

    def test_batches_of_many_clients_leave_threads_to_documents(self) -> None:
        requests = Requests(threads=8)
        batches, documents = requests.dispatcher.write_batches, requests.dispatcher.writes
        requests.fill(batches)
        for client in "bc":
            assert requests.add(batches, client=client).began.wait(PATIENCE_SECONDS)
        # A thread for each that runs a batch already, as far as they go; those kept for others are left.
        for client in "abdf":
            assert requests.add(documents, client=client).began.wait(PATIENCE_SECONDS)
        assert requests.add(requests.dispatcher.reads, client="r").began.wait(PATIENCE_SECONDS)
        assert len(batches.running) == 6, "none of them has ended meanwhile"
        requests.end_all()

    def test_a_queue_that_is_full_refuses_who_fills_it(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        requests.fill(lane)
        requests.fill_spare(lane)
        waiting = [requests.add(lane, seconds=WAITING_MAX * LATER) for _ in range(WAITING_MAX)]
        assert not any(job.refusal for job in waiting)
        other = requests.add(lane, client="c", seconds=WAITING_MAX * LATER)
        assert not other.refusal
        assert [job.refusal for job in waiting if job.refusal] == [waiting[-1].refusal]

    def test_who_waits_behind_many_of_others_is_not_refused_for_them(self, requests: Requests) -> None:
        lane = requests.dispatcher.writes
        requests.fill(lane)
        requests.fill_spare(lane)
        lane.mean_seconds = 1.0
        for _ in range(200):
            requests.add(lane)
        assert requests.add(lane, seconds=10).refusal
        assert not requests.add(lane, client="c", seconds=10).refusal

    @given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3), st.booleans()), max_size=60))
    def test_no_bound_is_exceeded_and_nobody_is_forgotten(self, steps: list[tuple[str, int, bool]]) -> None:
        """Whatever begins and ends: bounds hold, and no request waits for which there is a thread.

        Those of the client `e` take the processor for long.
        """
        dispatcher = Dispatcher(threads=4, request_seconds=10)
        lanes = (
            dispatcher.reads,
            dispatcher.writes,
            dispatcher.read_batches,
            dispatcher.write_batches,
        )
        for client, number, ends in steps:
            if ends and (running := [(lane, *job) for lane in lanes for job in lane.running.items()]):
                lane, job, (owner, _) = running[number % len(running)]
                dispatcher._finish(lane, job, 1.0 if owner == "e" else 0.0)
            else:
                dispatcher.add(Job([], ""), lanes[number], client, deadline=time.monotonic() + LATER)
            assert sum(len(lane.running) for lane in lanes) <= 4 + 2
            for others, batches in (lanes[::2], lanes[1::2]):
                # A batch on the thread that is kept does not count.
                assert len(others.running) + min(len(batches.running), batches.threads_max) <= 3 + 1
            for lane in lanes:
                assert lane.running_of == Counter(client for client, _ in lane.running.values())
                assert all(lane.waiting.values())
                now = time.monotonic()
                assert not any(dispatcher._has_thread(lane, client, now) for client in lane.waiting)


def test_a_client_is_alone_while_no_other_one_runs_waits_or_was_there(requests: Requests) -> None:
    dispatcher = requests.dispatcher
    for _ in range(5):
        requests.add(dispatcher.write_batches)
    assert dispatcher.is_alone("a")
    assert not dispatcher.is_alone("b")
    other = requests.add(dispatcher.reads, client="b")
    assert not dispatcher.is_alone("a")
    other.end()
    assert not dispatcher.is_alone("a")


class TestLongRequests:
    """Requests that take the processor for long: one at a time of a client, as long as others are there."""

    def test_beside_others_those_of_a_client_follow_each_other(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        requests.add(lane, client="b").end()
        first, second = requests.add(lane), requests.add(lane)
        assert first.began.wait(PATIENCE_SECONDS)
        # Of a client that asks for the first time nothing is known.
        assert lane.waiting_count == 1
        lane.long.note("a", 1.0, time.monotonic())
        third = requests.add(lane)
        first.end()
        assert second.began.wait(PATIENCE_SECONDS)
        assert lane.waiting_count == 1
        second.end()
        assert third.began.wait(PATIENCE_SECONDS)

    def test_others_are_not_kept_waiting(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        for client in ("a", "b"):
            lane.long.note(client, 1.0, time.monotonic())
            assert requests.add(lane, client=client).began.wait(PATIENCE_SECONDS)

    def test_short_ones_run_beside_each_other(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        for client in ("a", "b"):
            requests.add(lane, client=client).end()
        eventually(lambda: not lane.running, "none runs")
        assert all(requests.add(lane).began.wait(PATIENCE_SECONDS) for _ in range(lane.threads_max))

    def test_a_client_that_is_alone_uses_all_threads(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        lane.long.note("a", 1.0, time.monotonic())
        assert all(requests.add(lane).began.wait(PATIENCE_SECONDS) for _ in range(lane.threads_max))

    def test_batches_of_documents_take_turns_themselves(self, requests: Requests) -> None:
        lane = requests.dispatcher.write_batches
        requests.add(requests.dispatcher.reads, client="b")
        assert all(requests.add(lane).began.wait(PATIENCE_SECONDS) for _ in range(lane.threads_max))

    def test_one_that_waits_is_refused_by_the_threads_that_it_may_have(self, requests: Requests) -> None:
        lane = requests.dispatcher.reads
        requests.add(lane, client="b").end()
        assert requests.add(lane).began.wait(PATIENCE_SECONDS)
        lane.mean_seconds = 1.0
        assert not requests.add(lane, seconds=2.5).refusal
        assert not requests.add(lane, seconds=2.5).refusal
        assert requests.add(lane, seconds=2.5).refusal

    def test_the_time_of_what_is_served_is_counted(self, requests: Requests) -> None:
        class Computing(Job):
            def service(self) -> None:
                ends_at = time.thread_time() + 4 * LONG_SECONDS
                while time.thread_time() < ends_at:
                    pass

        lane = requests.dispatcher.reads
        for client, job in (("a", Computing([], "")), ("b", Job([], ""))):
            job.may_end.set()
            requests.dispatcher.add(job, lane, client, deadline=time.monotonic() + LATER)
        eventually(lambda: not lane.running, "none runs")
        now = time.monotonic()
        assert [lane.long.has_long(client, now) for client in "ab"] == [True, False]


def test_what_needs_no_store_is_answered_before_all_others(requests: Requests) -> None:
    requests.fill(requests.dispatcher.reads)
    requests.add(requests.dispatcher.writes)
    health = Job(requests.log, "health")
    health.may_end.set()
    requests.dispatcher.add_immediate(health)
    assert health.ended.wait(PATIENCE_SECONDS)


def test_a_request_that_fails_leaves_its_thread_to_others(requests: Requests) -> None:
    class Failing(Job):
        def service(self) -> None:
            raise RuntimeError("a bug")

    lane = requests.dispatcher.reads
    for _ in range(10):
        requests.dispatcher.add(Failing([], ""), lane, "a", deadline=time.monotonic() + LATER)
    assert requests.add(lane).began.wait(PATIENCE_SECONDS)


class TestReadiness:
    """The last result of a check in the background."""

    def test_of_a_store_that_answers(self) -> None:
        store = LineageStore(open_table("sqlite:///:memory:"))
        checked = Readiness(store.ready)
        eventually(lambda: self.is_ready(checked), "a check has ended")
        store.close()

    @pytest.mark.slow
    def test_of_a_store_that_fails(self) -> None:
        def fail() -> None:
            calls.append(1)
            # The second check begins when the result of the first is known.
            if len(calls) > 1:
                ended.set()
            raise StoreUnavailable("the disk is full")

        calls: list[int] = []
        ended = threading.Event()
        checked = Readiness(fail)
        assert not self.is_ready(checked)
        assert ended.wait(PATIENCE_SECONDS)
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                checked.require()

    def test_of_a_store_that_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(health, "PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(health, "GRACE_SECONDS", 0.5)
        hangs, released = threading.Event(), threading.Event()
        checked = Readiness(lambda: None if not hangs.is_set() else released.wait() and None)
        eventually(lambda: self.is_ready(checked), "a check has ended")
        hangs.set()
        eventually(lambda: not self.is_ready(checked), "the store hangs")
        with pytest.raises(StoreUnavailable, match="has not answered for"):
            checked.require()
        released.set()
        eventually(lambda: self.is_ready(checked), "the store went on")

    def is_ready(self, checked: Readiness) -> bool:
        """Return whether the store is ready; no call waits for a store that hangs until the test ends."""
        try:
            checked.require()
        except StoreUnavailable:
            return False
        return True

    def test_checks_end_when_no_caller_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(health, "PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(health, "WANTED_SECONDS", 0.05)
        calls = []
        checked = Readiness(lambda: calls.append(1))
        checked.require()
        eventually(lambda: not checked._is_running, "no caller is left")
        count = len(calls)
        checked.require()
        assert len(calls) > count
