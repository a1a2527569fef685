"""The HBase engine: its traps, failures of its gateways, and error messages."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import happybase
import pytest
from Hbase_thrift import IOError as HbaseIOError

from fll_hbase.runtime.errors import ConfigurationError, LineageError, StoreUnavailable, TooLarge
from fll_hbase.tables import CellKey, Put, Scan, hbase, hbase_url, open_table
from fll_hbase.tables.base import Table
from fll_hbase.tables.hbase import SCANS_PER_CALL, split_deletes, translate_error
from fll_hbase.tables.thrift_pool import STUCK_MAX, STUCK_SECONDS, HBaseServerError
from tests.support.engines import Hbase
from tests.support.gates import Gate
from tests.support.thrift_calls import count_thrift_calls
from tests.support.waiting import PATIENCE_SECONDS, eventually, patience

MANY = 60
TIMEOUT_MS = int(10_000 * PATIENCE_SECONDS)
"""Of a gateway that hangs: longer than a test waits."""


@pytest.fixture
def url(hbase: Hbase) -> str:
    """The URL of an empty table."""
    return hbase.emptied()


@pytest.fixture
def gate(hbase: Hbase) -> Iterator[Gate]:
    """A gate before the first gateway."""
    with Gate(hbase.target.gateways[0]) as opened:
        yield opened


def through(*gates: Gate | str, url: str) -> str:
    """The URL of the same table behind these gates."""
    hosts = ",".join(gate if isinstance(gate, str) else gate.address for gate in gates)
    return f"hbase://{hosts}/{hbase_url.parse_url(url).table}"


@contextmanager
def opened(url: str, *, timeout_ms: int = 30_000, connections_max: int = 16) -> Iterator[Table]:
    with closing(open_table(url, timeout_ms=timeout_ms, connections_max=connections_max)) as table:
        yield table


def put(row: bytes, value: bytes = b"1") -> Put:
    return Put(row, b"d:x", value)


def value(table: Table, row: bytes) -> bytes:
    return table.get(row)[b"d:x"].value


class TestTheTable:
    """Whether there is one that keeps what is put into it."""

    def test_none(self, hbase: Hbase) -> None:
        with opened(hbase.url("never_made")) as table:
            for _ in range(2):
                with pytest.raises(
                    ConfigurationError, match=r"no table 'never_made'; create it with `fll table create`"
                ):
                    table.get(b"a")

    @pytest.mark.parametrize(
        ("families", "fixes"),
        [
            ({"d": {}, "o": {"max_versions": 1}}, "{NAME => 'd', VERSIONS => '1'}"),
            (
                {"d": {"max_versions": 1, "time_to_live": 86_400}, "o": {"max_versions": 2}},
                "{NAME => 'd', TTL => 'FOREVER'}, {NAME => 'o', VERSIONS => '1'}",
            ),
            ({"d": {"max_versions": 1}}, "{NAME => 'o', VERSIONS => '1', BLOOMFILTER => 'ROW'"),
        ],
        ids=["three versions", "expiry", "a family is missing"],
    )
    def test_one_that_would_lose_lineage(
        self, hbase: Hbase, families: dict[str, dict[str, object]], fixes: str
    ) -> None:
        url = hbase.unused()
        target = hbase_url.parse_url(url)
        with closing(happybase.Connection(*target.gateways[0])) as connection:
            connection.create_table(target.table, families)
        with opened(url) as table:
            with pytest.raises(ConfigurationError) as caught:
                table.write([[put(b"a")]])
            assert f"alter '{target.table}', {fixes}" in str(caught.value)

    def test_one_that_is_removed_under_way_and_made_again(
        self, hbase: Hbase, caplog: pytest.LogCaptureFixture
    ) -> None:
        url = hbase.fresh()
        with opened(url) as table:
            table.write([[put(b"a")]])
            hbase.drop(url)
            with pytest.raises(StoreUnavailable) as caught:
                table.get(b"a")
            assert str(caught.value).endswith("try again, and see the log for its reason")
            assert "TableNotFoundException" in caplog.text
            hbase.make(url)
            table.write([[put(b"b")]])
            assert value(table, b"b") == b"1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"org.apache.hadoop.hbase.ipc.CallTimeoutException: Call to rs1/10.0.0.7:16020", StoreUnavailable),
        (b"java.lang.IllegalArgumentException: KeyValue size too large", TooLarge),
    ],
)
def test_java_classes_and_hosts_stay_in_the_log(
    text: bytes, expected: type[LineageError], caplog: pytest.LogCaptureFixture
) -> None:
    fault = HBaseServerError(HbaseIOError(message=text + b"\n\tat org.apache.hadoop.hbase.ipc.RpcServer"))
    error = translate_error(fault, "lineage")
    assert type(error) is expected
    for internal in ("Exception", "org.", "java.", "10.0.0.7"):
        assert internal not in str(error)
    assert ("CallTimeoutException: Call to rs1/10.0.0.7" in caplog.text) is (expected is StoreUnavailable)
    assert "RpcServer" not in caplog.text


class TestSizes:
    """How much goes into one call, and into one cell."""

    def test_a_batch_larger_than_a_call(self, url: str) -> None:
        with opened(url) as table:
            table.write([[put(b"row%02d" % number, b"%02d" % number * 2**19) for number in range(12)]])
            for number in range(12):
                assert value(table, b"row%02d" % number) == b"%02d" % number * 2**19

    def test_more_cells_than_a_call_takes(self, url: str) -> None:
        with opened(url) as table:
            table.write([[put(b"row%05d" % number) for number in range(20_001)]])
            assert sum(1 for _ in table.scan(b"row", b"rox")) == 20_001

    def test_the_largest_cell_that_lineage_has(self, url: str) -> None:
        with opened(url) as table:
            table.write([[put(b"a", b"x" * 8 * 2**20)]])
            assert value(table, b"a") == b"x" * 8 * 2**20

    def test_a_cell_that_hbase_refuses(self, url: str) -> None:
        with opened(url) as table:
            with pytest.raises(TooLarge) as caught:
                table.write([[put(b"a", b"x" * 11 * 2**20)]])
            assert "\n" not in str(caught.value), "no stack trace"
            assert table.get(b"a") == {}


class TestScans:
    """How many calls and waits scans cost, and what an error between them does."""

    def test_a_page_costs_two_waits(self, url: str) -> None:
        with opened(url) as table:
            table.write([[put(b"row%04d" % number) for number in range(1_500)]])
            with count_thrift_calls() as counted:
                assert len(list(table.scan(b"row", b"row0999"))) == 999
            assert counted.calls == {"scannerOpenWithScan": 1, "scannerGetList": 1, "scannerClose": 1}
            assert counted.waits == 2
            with count_thrift_calls() as counted:
                assert len(list(table.scan(b"row", b"rox"))) == 1_500
            assert counted.waits == 4

    @pytest.mark.parametrize("many", [1, SCANS_PER_CALL, SCANS_PER_CALL + 1, 300])
    def test_scans_share_their_waits(self, url: str, many: int) -> None:
        with opened(url) as table:
            table.write([[put(b"row%04d" % number) for number in range(many)]])
            scans = [Scan(b"row%04d" % number, b"row%04d~" % number) for number in range(many)]
            with count_thrift_calls() as counted:
                assert [[key for key, _ in rows] for rows in table.scan_many(scans)] == [
                    [b"row%04d" % number] for number in range(many)
                ]
            assert counted.waits == 2 * -(-many // SCANS_PER_CALL)

    def test_empty_ranges_cost_no_call(self, url: str) -> None:
        with opened(url) as table:
            table.get(b"a")
            with count_thrift_calls() as counted:
                assert (
                    table.scan_many([Scan(b"b", b"a"), Scan(b"a", b"a"), Scan(b"a", b"b", limit=0)])
                    == [[]] * 3
                )
            assert counted.waits == 0

    def test_a_quarter_of_the_connections_at_most(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), connections_max=8) as table:
            table.write([[put(b"row%04d" % number) for number in range(MANY)]])
            scans = [Scan(b"row", b"rox", limit=1)] * (10 * SCANS_PER_CALL)
            assert [len(rows) for rows in table.scan_many(scans)] == [1] * len(scans)
            assert gate.accepted <= 2

    def test_after_an_error_between_calls_that_were_sent_together_replies_are_right(self, url: str) -> None:
        with opened(url, connections_max=1) as table:
            table.write([[put(b"a", b"of a"), put(b"b", b"of b")]])
            good, bad = Scan(b"a", b"b"), Scan(b"a", b"b", (b"nofamily:",))
            for scans in ([bad], [good, bad, good], [bad] * 40):
                with pytest.raises(StoreUnavailable, match="HBase"):
                    table.scan_many(scans)
                assert value(table, b"b") == b"of b"
                assert [key for key, _ in table.scan(b"a", b"z")] == [b"a", b"b"]

    def test_replies_to_scans_that_come_late_are_for_no_other_call(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), timeout_ms=3_000, connections_max=1) as table:
            table.write([[put(b"a", b"of a"), put(b"b", b"of b")]])
            gate.delay_seconds = 4.0
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                table.scan_many([Scan(b"a", b"b")] * 3)
            gate.delay_seconds = 0.0
            for _ in range(10):
                assert value(table, b"b") == b"of b"
                assert [key for key, _ in table.scan(b"b", b"c")] == [b"b"]
                time.sleep(0.2)

    def test_scans_on_connections_that_the_gateway_ended_are_repeated(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url)) as table:
            table.write([[put(b"a")]])
            scans = [Scan(b"a", b"b")] * (3 * SCANS_PER_CALL)
            for _ in range(3):
                assert [len(rows) for rows in table.scan_many(scans)] == [1] * len(scans)
                gate.end_connections()

    def test_scanners_that_the_gateway_lost_are_opened_again(self, url: str, gate: Gate) -> None:
        """As an overloaded gateway does: it forgets a scanner that is not used for 10 seconds."""
        with opened(through(gate, url=url), timeout_ms=40_000) as table:
            table.write([[put(b"a")]])
            gate.delay_seconds = 13
            threading.Timer(3, lambda: setattr(gate, "delay_seconds", 0)).start()
            assert [key for key, _ in table.scan(b"a", b"b")] == [b"a"]


class TestConnections:
    """Connections that break, hang or are many."""

    def test_a_reply_that_comes_late_is_nobody_elses(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), timeout_ms=3_000) as table:
            table.write([[put(b"a", b"of a"), put(b"b", b"of b")]])
            gate.delay_seconds = 4.0
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                table.get(b"a")
            gate.delay_seconds = 0.0
            for _ in range(10):
                assert value(table, b"b") == b"of b"
                time.sleep(0.2)

    def test_connections_that_the_gateway_ended_are_made_anew(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url)) as table:
            table.write([[put(b"a")]])
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda _: table.get(b"a"), range(40)))
            gate.end_connections()
            assert value(table, b"a") == b"1"
            gate.end_connections()
            table.write([[put(b"a", b"2")]])
            assert value(table, b"a") == b"2"

    def test_a_gateway_that_is_gone_is_passed_over(self, hbase: Hbase, url: str, gate: Gate) -> None:
        with opened(through(gate, hbase.gateways, url=url)) as table:
            for step in range(4):
                table.write([[put(b"a", b"%d" % step)]])
            gate.shut()
            gate.end_connections()
            for step in range(20):
                table.write([[put(b"a", b"%d" % step)]])
                assert value(table, b"a") == b"%d" % step

    def test_where_none_is_left_the_error_comes_soon_and_the_pool_heals(self, url: str, gate: Gate) -> None:
        closed_gate = Gate(("127.0.0.1", 1))
        closed_gate.shut()
        with opened(through(gate, closed_gate, url=url), timeout_ms=TIMEOUT_MS) as table:
            table.write([[put(b"a")]])
            with Gate(hbase_url.parse_url(url).gateways[0]) as other:
                gate.shut()
                gate.end_connections()
                with patience(), pytest.raises(StoreUnavailable) as caught:
                    table.get(b"a")
                assert "Connection refused" in str(caught.value)
                assert gate.address in str(caught.value)
                assert closed_gate.address in str(caught.value)
                with opened(through(closed_gate, other, url=url)) as second:
                    assert value(second, b"a") == b"1"

    def test_a_gateway_that_hangs_is_left_in_time_and_then_passed_over(
        self, hbase: Hbase, url: str, gate: Gate
    ) -> None:
        with opened(through(gate, hbase.gateways, url=url), timeout_ms=3_000) as table:
            while gate.accepted == 0:
                with ThreadPoolExecutor(4) as pool:
                    list(pool.map(lambda _: table.rows([b"a"]), range(8)))
            gate.delay_seconds = 2 * PATIENCE_SECONDS
            outcomes = []
            for _ in range(20):
                try:
                    with patience():
                        table.get(b"a")
                    outcomes.append("answered")
                except StoreUnavailable:
                    outcomes.append("away")
            assert outcomes.count("away") <= 3
            assert outcomes[-5:] == ["answered"] * 5

    def test_where_many_wait_others_do_not_wait_as_long(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), timeout_ms=TIMEOUT_MS) as table:
            table.write([[put(b"a")]])
            gate.delay_seconds = 2 * PATIENCE_SECONDS
            for _ in range(STUCK_MAX):
                _ask_in_vain(table)
            time.sleep(STUCK_SECONDS + 0.2)
            with patience(), pytest.raises(StoreUnavailable):
                table.get(b"a")
            gate.delay_seconds = 0.0
            gate.end_connections()
            assert value(table, b"a") == b"1", "it heals"

    def test_no_more_connections_than_allowed(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), connections_max=3) as table:
            table.write([[put(b"row%02d" % number) for number in range(MANY)]])
            seen = []

            def ask(number: int) -> None:
                assert value(table, b"row%02d" % number) == b"1"
                seen.append(gate.open_connections)

            with ThreadPoolExecutor(12) as pool:
                list(pool.map(ask, range(MANY)))
            assert max(seen) <= 3

    def test_a_full_pool_is_reported_in_time(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url), timeout_ms=TIMEOUT_MS, connections_max=1) as table:
            table.write([[put(b"a")]])
            gate.delay_seconds = 2 * PATIENCE_SECONDS
            _ask_in_vain(table)
            time.sleep(0.2)
            with patience(), pytest.raises(StoreUnavailable, match="all 1 connections"):
                table.get(b"a")
            gate.end_connections()

    def test_a_closed_table_leaves_no_connection(self, url: str, gate: Gate) -> None:
        with opened(through(gate, url=url)) as table:
            table.write([[put(b"a")]])
            assert gate.open_connections == 1
        eventually(lambda: gate.open_connections == 0, "no connection is open")


def _ask_in_vain(table: Table) -> None:
    """Ask in a thread, for as long as it takes."""

    def ask() -> None:
        with suppress(StoreUnavailable):
            table.get(b"a")

    threading.Thread(target=ask, daemon=True).start()


def test_a_forked_process_leaves_the_connections_of_its_parent_alone(url: str) -> None:
    with opened(url) as table:
        table.write([[put(b"a", b"of the parent")]])
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=_in_child, args=(table,))
        child.start()
        for _ in range(50):
            assert value(table, b"a") == b"of the parent"
        child.join(120)
        assert child.exitcode == 0
        assert value(table, b"of the child") == b"%d" % child.pid
        assert value(table, b"a") == b"of the parent"


def _in_child(table: Table) -> None:
    for _ in range(50):
        table.write([[put(b"of the child", b"%d" % os.getpid())]])
        assert value(table, b"of the child") == b"%d" % os.getpid()


def test_deletes_of_a_row_share_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hbase, "CALL_CELLS", 5)
    sizes = {b"a": 3, b"b": 3, b"c": 1, b"d": 7, b"e": 5}
    cells = [CellKey(row, b"d:%d" % number) for row, size in sizes.items() for number in range(size)]
    calls = [{row: len(columns) for row, columns in call.items()} for call in split_deletes(cells)]
    assert calls == [{b"a": 3}, {b"b": 3, b"c": 1}, {b"d": 7}, {b"e": 5}]
    assert list(split_deletes([])) == []
