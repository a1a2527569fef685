"""Failures of HBase processes lose no acknowledged run, and no answer is ever wrong.

All in one file, because tests run in parallel by files: there is one cluster. On a push a region server is
killed, alone and during a load, and stopped while many ask; gateways are killed one after the other, and all
processes at once, among them those that only long runs kill alone.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.clients import paused
from tests.faults.cluster import ANSWER_SECONDS, DAEMONS, GATEWAYS, HOT, REGION_SERVERS, Site, Work
from tests.faults.crowd import Crowd
from tests.faults.loading import Input, Load, puts_into, rejected, same_rows
from tests.support.clusters import Cluster
from tests.support.processes import connected
from tests.support.server_process import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.java

Report = Callable[[str], None]

STOPPED_SECONDS = (8.0, 20.0)
"""A little longer than the session that a region server keeps in ZooKeeper, when requests sent before its
end are still waiting; and much longer."""

NO_ZOOKEEPER_SECONDS = 10.0
"""Longer than that session."""

LOADED_RUNS, LOADED_ROW = 4_000, b"f|load|orders|"
"""Every run of the load has a row there."""

CROWD, CROWD_WAIT_SECONDS = 60, 2
WORKER_KILLS = 5
STEADY_SECONDS = 5.0
NOTICED_SECONDS = 1.0
"""Somebody waits as long at least where regions are away: a fault that nobody noticed proves nothing."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The one cluster and the one server that all faults hurt."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder) as cluster:
        cluster.start("cluster", len(REGION_SERVERS), len(GATEWAYS))
        site = Site(cluster, folder)
        site.make_table()
        with site.server:
            yield site


@pytest.fixture
def site(begun: Site, report: Report) -> Site:
    """All of it up, and the table spread over both region servers."""
    begun.restore(report)
    return begun


@pytest.mark.parametrize("name", [REGION_SERVERS[0], pytest.param(REGION_SERVERS[1], marks=pytest.mark.long)])
def test_region_server_killed(site: Site, report: Report, name: str) -> None:
    with site.at_work(report) as work:
        regions = len(site.regions()[name])
        hot = [key.decode() for key in HOT if site.holder(key) == name]
        report(f"{name} holds {regions} regions, with {hot}")
        site.cluster.kill(name)
        took = work.gets_on()
        assert site.regions()[name] == []
        report(f"each client served {took:.1f} s after the kill, by the other one")
        site.cluster.restart(name)
    assert work.longest_seconds() >= NOTICED_SECONDS


@pytest.mark.long
def test_region_server_killed_during_a_load(site: Site, report: Report, tmp_path: Path) -> None:
    """Spark waits for the other one: nobody starts anything again, and another load finds all there."""
    given, url, rejects = Input(tmp_path / "runs", runs=LOADED_RUNS), site.cluster.url, tmp_path / "rejects"
    name = site.holder(LOADED_ROW)
    with Load(given.path, url, rejects, cores="2, 4") as load:
        eventually(lambda: puts_into(url), "the load has put something")
        site.cluster.kill(name)
        code, summary, complaints = load.ends()
    report(f"a load of {LOADED_RUNS} runs took {summary.get('seconds')} s with {name} killed")
    assert (code, complaints, given.accounted(summary)) == (3, [], True)
    assert [line["line"] for line in rejected(rejects)] == given.bad
    expected = given.rows()
    assert same_rows(url, expected) == expected
    site.cluster.restart(name)
    with Load(given.path, url, rejects) as load:
        code, summary, _ = load.ends()
    assert (code, summary["recorded"]) == (3, 0)
    assert same_rows(url, expected) == expected


@pytest.mark.long
@pytest.mark.parametrize("seconds", STOPPED_SECONDS)
def test_region_server_stopped(site: Site, report: Report, seconds: float) -> None:
    name = site.holder(HOT[1])
    with site.at_work(report) as work:
        site.cluster.pause(name)
        work.lives(seconds)
        site.cluster.resume(name)
        took = eventually(lambda: site.cluster.status()[name] == "down", f"{name} gives up")
        report(f"{name} ended itself {took:.1f} s after it went on; without a signal")
        site.cluster.restart(name)
    assert work.longest_seconds() >= NOTICED_SECONDS


def test_region_server_stopped_while_many_ask(site: Site, report: Report) -> None:
    """Each request is answered before its client gives up, and health is 200, however many wait."""
    name = site.holder(HOT[2])
    crowd = Crowd(
        site.server.port, clients=CROWD, wait_seconds=CROWD_WAIT_SECONDS, patience_seconds=ANSWER_SECONDS
    )
    with site.at_work(report) as work:
        # A batch of theirs may be refused as a whole beside so many.
        with paused(work.clients):
            site.cluster.pause(name)
            with crowd.at_work():
                time.sleep(STOPPED_SECONDS[0])
            site.cluster.resume(name)
        eventually(lambda: site.cluster.status()[name] == "down", f"{name} gives up")
        site.cluster.restart(name)
    for kind, times in crowd.times.items():
        report(f"{CROWD} clients with {CROWD_WAIT_SECONDS} s each, {kind}: {times}")
    assert crowd.times["/healthz"].statuses.keys() == {200}
    for kind in ("questions", "documents"):
        assert 503 in crowd.times[kind].statuses, "the fault was not noticed"
        assert crowd.times[kind].statuses.keys() <= {200, 201, 503}


def test_gateways_killed_one_after_the_other(site: Site, report: Report) -> None:
    with site.at_work(report) as work:
        for name, port in zip(GATEWAYS, site.cluster.gateways, strict=True):
            assert connected(site.server.workers(), port), f"no worker uses {name}: its death proves nothing"
            site.cluster.kill(name)
            took = work.gets_on()
            assert not connected(site.server.workers(), port)
            report(f"each client served {took:.1f} s after {name} was killed, by the other one")
            site.cluster.restart(name)


@pytest.mark.long
def test_all_gateways_killed(site: Site, report: Report) -> None:
    with site.at_work(report) as work:
        for name in GATEWAYS:
            site.cluster.kill(name)
        eventually(work.was_refused, "writers and readers are told 503")
        for name in GATEWAYS:
            site.cluster.restart(name)


@pytest.mark.long
def test_master_killed(site: Site, report: Report) -> None:
    with site.at_work(report) as work:
        site.cluster.kill("master")
        took = max(work.gets_on() for _ in range(3))
        assert site.cluster.status()["master"] == "down"
        report(f"without a master each client was served every {took:.1f} s at least")
        site.cluster.restart("master")


@pytest.mark.long
def test_zookeeper_killed_and_started_again(site: Site, report: Report) -> None:
    with site.at_work(report) as work:
        site.cluster.kill("zk")
        work.lives(NO_ZOOKEEPER_SECONDS)
        assert site.cluster.status()["zk"] == "down"
        site.cluster.restart("zk")
        work.gets_on()
        report(f"afterwards: {site.cluster.status()}")


@pytest.mark.long
def test_api_workers_killed(site: Site, report: Report) -> None:
    chance = random.Random(7)
    with site.at_work(report, api_hurt=True) as work:
        for _ in range(WORKER_KILLS):
            eventually(lambda: site.ledger.under_way() > 0, "something is being written")
            os.kill(chance.choice(site.server.some_workers()), signal.SIGKILL)
            work.gets_on()
        site.server.wait_for_all_workers()
    assert sum(tally.broken for client in work.clients for tally in client.tallies) >= WORKER_KILLS // 2


def test_whole_cluster_killed_at_once(site: Site, report: Report) -> None:
    with site.at_work(report, api_hurt=True) as work:
        pids = [site.pid(name) for name in DAEMONS]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        eventually(work.was_refused, "writers and readers are told 503")
        _api_stays_up(site, work)
        began = time.monotonic()
        site.cluster.start("cluster", len(REGION_SERVERS), len(GATEWAYS))
        ready = time.monotonic() - began
        work.gets_on()
        report(f"HBase up after {ready:.1f} s, each client served after {time.monotonic() - began:.1f} s")


def _api_stays_up(site: Site, work: Work) -> None:
    """While HBase is away: a worker that dies has a heir, both live and say so, and none is ready."""
    os.kill(site.server.workers()[0], signal.SIGKILL)
    workers = site.server.wait_for_all_workers(path="/healthz")
    site.server.wait_for_all_workers(path="/readyz", status=503)
    work.lives(STEADY_SECONDS)
    assert site.server.wait_for_all_workers(path="/healthz") == workers, "workers die while HBase is away"
    other = Server(site.server.store.with_name("other"), url=site.cluster.url)
    other.start(wait=False)
    assert other.ends(ANSWER_SECONDS) != 0
    assert "gateway" in other.log()
