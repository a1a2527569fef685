"""The check of a whole table reports errors, repairs them, and sets the exit code."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from fll_hbase.cli.commands.spark import spark as group
from fll_hbase.model import run_events
from fll_hbase.model.run_events import EventRunFacts, EventType
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.hashes import cell_hashes
from fll_hbase.spark.jobs import check as job
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check as steps
from fll_hbase.store.maintenance.audit import check_report
from fll_hbase.store.maintenance.audit import hash_filter as filters
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.maintenance.audit.local_auditor import local_auditor
from fll_hbase.store.rows import calendar_mark
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import Put, back_up, open_table
from tests.support import raw_sql
from tests.support.audit_histories import HISTORIES, essential
from tests.support.earlier_release import make_earlier_store
from tests.support.event_runs import NOW_MS, part
from tests.support.profiles import COSTLY
from tests.support.sealing import seal_all
from tests.support.shared_session import SharedSession


@pytest.fixture
def url(sample_url: str, tmp_path: Path) -> str:
    """A copy of the sample's store."""
    raw_sql.run_sql(sample_url, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(_path(sample_url), tmp_path / "lineage.db")
    return f"sqlite:///{tmp_path}/lineage.db"


def _path(url: str) -> str:
    return url.removeprefix("sqlite:///")


def run_sql(url: str, statement: str) -> int:
    """Change cells without the store; returns how many."""
    count = raw_sql.run_sql(url, statement)
    assert count > 0
    return count


def count_calls(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[str]:
    """Record the calls of a function of a module, which are executed as always."""
    function, calls = getattr(module, name), []

    def call(*arguments: object) -> object:
        calls.append(name)
        return function(*arguments)

    monkeypatch.setattr(module, name, call)
    return calls


def first_cell(prefix: str, column: str = "") -> str:
    """The condition of one cell: the first by row and column with these prefixes."""
    return (
        f"(row, column) IN (SELECT row, column FROM cells WHERE CAST(row AS TEXT) LIKE '{prefix}%'"
        f" AND CAST(column AS TEXT) LIKE '{column}%' ORDER BY row, column LIMIT 1)"
    )


def essential_cells(url: str) -> object:
    with closing(open_table(url)) as table:
        return essential(table)


@pytest.fixture(autouse=True)
def few_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fll_hbase.spark.hashes.range_scan.PARTITIONS_PER_CORE", 1)


def test_the_sample_is_clean_and_every_row_is_counted(spark: SparkSession, url: str) -> None:
    report = job.check(spark, Settings(store=url), repair=False)
    with closing(open_table(url)) as table:
        rows = sum(1 for _ in table.scan(b"", b"\xff"))
    assert report.first_audit.counts == {}
    assert report.first_audit.total == rows
    assert set(report.first_audit.rows) == set("bcefnruvw")
    assert str(report).endswith("no errors")


@pytest.mark.parametrize("repair", [False, True])
def test_a_store_that_does_not_exist_is_not_created(
    spark: SparkSession, tmp_path: Path, repair: bool
) -> None:
    with pytest.raises(ConfigurationError, match="there is no store at"):
        job.check(spark, Settings(store=f"sqlite:///{tmp_path}/mistyped.db"), repair=repair)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=COSTLY, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=HISTORIES)
def test_any_history_is_clean(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, history: list[RunInput]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('history')}/lineage.db"
    with closing(LineageStore(open_table(url))) as store:
        store.record(history)
    assert job.check(spark, Settings(store=url), repair=False).errors_left == 0


DAMAGE = [
    (f"DELETE FROM cells WHERE {first_cell('b|')}", "missing reference"),
    (f"UPDATE cells SET value = x'78' WHERE {first_cell('f|')}", "missing reference"),
    (f"DELETE FROM cells WHERE {first_cell('w|f')}", "missing way"),
    (f"DELETE FROM cells WHERE {first_cell('u|', 'd:z')}", "missing day"),
    # Without errors left, the repair puts the mark again.
    (f"DELETE FROM cells WHERE {first_cell('v|')}", "missing day"),
    (f"DELETE FROM cells WHERE {first_cell('n|')}", "missing in the run index"),
    (f"UPDATE cells SET value = x'78' WHERE {first_cell('u|f', 'd:z')}", "unreadable"),
    (f"DELETE FROM cells WHERE {first_cell('e|', 'd:b|')}", "missing in the catalogue"),
    (f"UPDATE cells SET value = x'5b5d' WHERE {first_cell('c|', 'd:t')}", "wrong cells of a content"),
    (f"UPDATE cells SET value = x'78' WHERE {first_cell('c|', 'd:m')}", "wrong cells of a content"),
    (f"DELETE FROM cells WHERE {first_cell('c|', 'o:b|')}", "wrong cells of a content"),
    (f"UPDATE cells SET value = x'78' WHERE {first_cell('r|', 'd:z|')}", "commit record differs from input"),
]


def test_repairable_damage_is_repaired(spark: SparkSession, url: str) -> None:
    cells = essential_cells(url)
    for statement, _ in DAMAGE:
        run_sql(url, statement)
    report = job.check(spark, Settings(store=url), repair=True)
    assert set(report.first_audit.count_errors()) >= {kind for _, kind in DAMAGE}
    assert report.errors_left == 0
    assert essential_cells(url) == cells


LOSSES = [
    (f"DELETE FROM cells WHERE {first_cell('c|', 'o:op|')}", "wrong checksum"),
    (f"DELETE FROM cells WHERE {first_cell('r|', 'd:v|')}", "input cells missing"),
    ("INSERT INTO cells VALUES (CAST('zebra' AS BLOB), CAST('d:x' AS BLOB), x'', 1)", "unreadable"),
]


def test_losses_are_reported_and_left_alone(spark: SparkSession, url: str) -> None:
    for statement, _ in LOSSES:
        run_sql(url, statement)
    # A repair that leaves errors does not put the mark again.
    run_sql(url, "DELETE FROM cells WHERE row = CAST('v|calendars' AS BLOB)")
    cells = essential_cells(url)
    report = job.check(spark, Settings(store=url), repair=True)
    assert report.last_audit.count_errors() == {kind: 1 for _, kind in LOSSES}
    assert len(report.summary()["not_mended"]) == len(LOSSES)
    assert "no other copy" in str(report)
    assert essential_cells(url) == cells


@pytest.mark.parametrize("repair", [False, True])
def test_a_check_without_spark_reports_and_repairs_the_same(
    spark: SparkSession, url: str, tmp_path: Path, repair: bool
) -> None:
    for statement, _ in (*DAMAGE, *LOSSES):
        run_sql(url, statement)
    copy = f"sqlite:///{tmp_path}/copy.db"
    back_up(url, _path(copy), overwrite=False, report=lambda *_: None)
    report = job.check(spark, Settings(store=url), repair=repair)
    with local_auditor(Settings(store=copy), report=lambda *_: None) as auditor:
        same = steps.check(auditor, Settings(store=copy), repair=repair)
    assert _without_times(same.summary()) == _without_times(report.summary())
    assert essential_cells(copy) == essential_cells(url)


def _without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if "second" not in name}


def test_columns_of_a_newer_release_are_notes_and_stay(spark: SparkSession, url: str) -> None:
    prefixes = ("b|", "c|", "e|", "f|", "r|", "u|", "w|")
    with closing(open_table(url)) as table:
        keys = {prefix: next(table.scan(prefix.encode(), b"\xff"))[0] for prefix in prefixes}
        table.write([[Put(key, b"d:future", b"any value") for key in keys.values()]])
        cells = dict(table.scan(b"", b"\xff"))
        for repair in (False, True):
            report = job.check(spark, Settings(store=url), repair=repair)
            assert report.errors_left == 0
            assert report.summary()["notes"] == {"unknown column": len(prefixes)}
            examples = report.summary()["examples"]["unknown column"]
            assert sorted(examples) == sorted(f"{key.decode()}: d:future" for key in keys.values())
            assert str(report).endswith("no errors")
        assert dict(table.scan(b"", b"\xff")) == cells


def test_wrong_seals_are_reported_and_ended(spark: SparkSession, url: str) -> None:
    cells = essential_cells(url)
    with closing(open_table(url)) as table:
        assert seal_all(table) > 0
    assert job.check(spark, Settings(store=url), repair=False).first_audit.counts == {}
    # The seals of a day list no run any more, or runs that are on no day.
    seals = first_cell("u|", "d:s")
    run_sql(url, f"UPDATE cells SET value = CAST(substr(value, 1, 19) || ',[]]' AS BLOB) WHERE {seals}")
    report = job.check(spark, Settings(store=url), repair=True)
    assert report.first_audit.counts == {Kind.WRONG_SEAL: 1}
    assert (report.errors_left, report.repaired) == (0, 1)
    assert essential_cells(url) == cells


@pytest.mark.parametrize("repair", [False, True])
def test_a_store_of_an_earlier_release_is_marked_by_a_repair(
    spark: SparkSession, url: str, repair: bool
) -> None:
    make_earlier_store(url)
    report = job.check(spark, Settings(store=url), repair=repair)
    assert set(report.first_audit.count_errors()) == {"missing way", "missing day"}
    assert (report.errors_left == 0) is repair
    with closing(open_table(url)) as table:
        assert calendar_mark.is_marked(table) is repair


def test_a_missing_content_is_reported_once(spark: SparkSession, url: str) -> None:
    run_sql(url, f"DELETE FROM cells WHERE row IN (SELECT row FROM cells WHERE {first_cell('c|')})")
    report = job.check(spark, Settings(store=url), repair=True)
    assert report.last_audit.count_errors() == {"missing content": 1}
    assert "reference without content" in report.last_audit.count_notes()


def test_garbage_may_lack_what_is_collected_before_it(spark: SparkSession, url: str) -> None:
    contents = job.check(spark, Settings(store=url), repair=False).first_audit.rows["c"]
    for prefix in "re":
        run_sql(url, f"DELETE FROM cells WHERE CAST(row AS TEXT) LIKE '{prefix}|%'")
    report = job.check(spark, Settings(store=url), repair=False)
    assert report.first_audit.count_errors() == {}
    assert report.first_audit.counts[Kind.CONTENT_WITHOUT_RUN] == contents


def test_every_finding_is_counted_and_repaired_in_one_pass_whatever_their_number(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = essential_cells(url)
    deleted = run_sql(url, "DELETE FROM cells WHERE row >= CAST('b|' AS BLOB) AND row < CAST('b}' AS BLOB)")
    # Every other hash passes by chance: what is reported must not depend on it.
    monkeypatch.setattr(filters, "BITS_MAX", 1_024)
    monkeypatch.setattr(cell_hashes, "SEGMENT_BITS", 256)
    audits = count_calls(monkeypatch, job, "audit")
    report = job.check(spark, Settings(store=url), repair=True)
    assert report.first_audit.counts == {Kind.MISSING_REFERENCE: deleted}
    assert len(report.first_audit.examples) == check_report.EXAMPLES
    assert (report.errors_left, report.refused) == (0, 0)
    assert 0 < report.repaired <= deleted
    assert len(audits) == 2
    assert essential_cells(url) == cells


@pytest.fixture
def busy_url(tmp_path: Path) -> Iterator[str]:
    """A store that a thread writes to all the time, with events of the same runs."""
    url, done = f"sqlite:///{tmp_path}/busy.db", threading.Event()

    def write() -> None:
        with closing(LineageStore(open_table(url))) as store:
            number = 0
            while not done.is_set():
                lineage = part(*"abcd"[: number % 4 + 1])
                events = (
                    run_events.make_event(
                        f"run {number % 50}", NOW_MS - number, EventType.RUNNING, lineage, EventRunFacts()
                    )
                    for number in range(number, number + 5)
                )
                store.record(list(events))
                number += 5

    # A check creates no store.
    open_table(url).close()
    writer = threading.Thread(target=write)
    writer.start()
    yield url
    done.set()
    writer.join()


def test_running_writers_cause_no_findings(spark: SparkSession, busy_url: str) -> None:
    for repair in (False, True):
        report = job.check(spark, Settings(store=busy_url), repair=repair)
        assert report.first_audit.count_errors() == {}
        assert report.errors_left == 0


def test_the_command_exits_with_1_on_errors(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fll_hbase.cli.commands.spark.common.session", SharedSession(spark))
    run_sql(url, DAMAGE[0][0])
    result = CliRunner().invoke(group, ["check", "--store", url])
    members = json.loads(result.stdout)
    assert (result.exit_code, members["wrong"]) == (1, {"missing reference": 1})
    (example,) = members["examples"]["missing reference"]
    assert example.startswith("b|")
    assert " is missing, needed by r|" in example
    repaired = CliRunner().invoke(group, ["check", "--repair", "--store", url])
    assert (repaired.exit_code, json.loads(repaired.stdout)["left"]) == (0, {})
    assert CliRunner().invoke(group, ["check", "--store", url]).exit_code == 0
