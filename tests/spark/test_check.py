"""Does the check of a whole table by workers tell what is wrong, mend it, and end as it should?"""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession
from store.test_audit import HISTORIES, essential
from store.test_events import NOW_MS, part

from fll_hbase.cli.commands.spark import spark as group
from fll_hbase.config import Settings
from fll_hbase.model import run_events
from fll_hbase.model.run_events import EventRunFacts, EventType
from fll_hbase.spark.jobs import check as job
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import open_table


@pytest.fixture
def url(sample_url: str, tmp_path: Path) -> str:
    """A copy of the sample's store."""
    with closing(sqlite3.connect(_path(sample_url))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(_path(sample_url), tmp_path / "lineage.db")
    return f"sqlite:///{tmp_path}/lineage.db"


def _path(url: str) -> str:
    return url.removeprefix("sqlite:///")


def damaged(url: str, statement: str) -> None:
    """Change cells behind the back of the store."""
    with closing(sqlite3.connect(_path(url), isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount > 0


def first(prefix: str, column: str = "") -> str:
    """The condition of one cell: the first of rows and columns that begin like this."""
    return (
        f"(row, column) IN (SELECT row, column FROM cells WHERE CAST(row AS TEXT) LIKE '{prefix}%'"
        f" AND CAST(column AS TEXT) LIKE '{column}%' ORDER BY row, column LIMIT 1)"
    )


def whole(url: str) -> object:
    with closing(open_table(url)) as table:
        return essential(table)


@pytest.fixture(autouse=True)
def few_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fll_hbase.spark.range_scan.PARTITIONS_PER_CORE", 1)


def test_the_sample_is_clean_and_every_row_is_counted(spark: SparkSession, url: str) -> None:
    checked = job.check(spark, Settings(store=url), repair=False)
    with closing(open_table(url)) as table:
        rows = sum(1 for _ in table.scan(b"", b"\xff"))
    assert checked.first_audit.findings == ()
    assert checked.first_audit.total == rows
    assert set(checked.first_audit.rows) == set("bcefir")
    assert str(checked).endswith("no errors")


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=HISTORIES)
def test_any_history_is_clean(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, history: list[RunInput]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('history')}/lineage.db"
    with closing(LineageStore(open_table(url))) as store:
        store.record(history)
    assert job.check(spark, Settings(store=url), repair=False).errors_left == 0


DAMAGE = [
    (f"DELETE FROM cells WHERE {first('b|')}", "missing reference"),
    (f"UPDATE cells SET value = x'78' WHERE {first('f|')}", "missing reference"),
    (f"DELETE FROM cells WHERE {first('i|f')}", "missing index"),
    (f"UPDATE cells SET value = x'78' WHERE {first('i|b')}", "unreadable"),
    (f"DELETE FROM cells WHERE {first('e|', 'd:b|')}", "missing in the catalogue"),
    (f"UPDATE cells SET value = x'5b5d' WHERE {first('c|', 'd:t')}", "wrong cells of a content"),
    (f"UPDATE cells SET value = x'78' WHERE {first('c|', 'd:m')}", "wrong cells of a content"),
    (f"DELETE FROM cells WHERE {first('c|', 'o:b|')}", "wrong cells of a content"),
    (f"UPDATE cells SET value = x'78' WHERE {first('r|', 'd:z|')}", "truth that is not what was said"),
]


def test_all_damage_that_can_be_mended_is(spark: SparkSession, url: str) -> None:
    before = whole(url)
    for statement, _ in DAMAGE:
        damaged(url, statement)
    checked = job.check(spark, Settings(store=url), repair=True)
    assert set(checked.first_audit.count_errors()) >= {kind for _, kind in DAMAGE}
    assert checked.errors_left == 0
    assert whole(url) == before


LOSSES = [
    (f"DELETE FROM cells WHERE {first('c|', 'o:op|')}", "wrong checksum"),
    (f"DELETE FROM cells WHERE {first('r|', 'd:v|')}", "what was said is lost"),
    ("INSERT INTO cells VALUES (CAST('zebra' AS BLOB), CAST('d:x' AS BLOB), x'', 1)", "unreadable"),
]


def test_what_is_lost_is_said_to_be_and_left_alone(spark: SparkSession, url: str) -> None:
    for statement, _ in LOSSES:
        damaged(url, statement)
    before = whole(url)
    checked = job.check(spark, Settings(store=url), repair=True)
    assert checked.last_audit.count_errors() == {kind: 1 for _, kind in LOSSES}
    assert len(checked.summary()["not_mended"]) == len(LOSSES)
    assert "no other copy" in str(checked)
    assert whole(url) == before


def test_a_content_of_documents_that_is_gone_is_told_once(spark: SparkSession, url: str) -> None:
    damaged(url, f"DELETE FROM cells WHERE row IN (SELECT row FROM cells WHERE {first('c|')})")
    checked = job.check(spark, Settings(store=url), repair=True)
    assert checked.last_audit.count_errors() == {"missing content": 1}
    assert "reference without content" in checked.last_audit.count_notes()


def test_of_very_much_that_differs_the_rest_is_counted(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "MISMATCHES_MAX", 600)
    damaged(url, "DELETE FROM cells WHERE row >= CAST('b|' AS BLOB) AND row < CAST('b}' AS BLOB)")
    checked = job.check(spark, Settings(store=url), repair=False)
    assert 0 < checked.errors_left < 600
    assert checked.first_audit.unexplained > 0
    assert all(len(some) <= job.EXAMPLES for some in checked.first_audit.examples().values())
    assert "were not examined" in str(checked)
    assert job.check(spark, Settings(store=url), repair=True).errors_left == 0


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[str]:
    """A store that is written to all the while, by runs that are told again and again."""
    url, done = f"sqlite:///{tmp_path}/busy.db", threading.Event()

    def write() -> None:
        with closing(LineageStore(open_table(url))) as store:
            number = 0
            while not done.is_set():
                said = part(*"abcd"[: number % 4 + 1])
                told = (
                    run_events.make_event(
                        f"run {number % 50}", NOW_MS - number, EventType.RUNNING, said, EventRunFacts()
                    )
                    for number in range(number, number + 5)
                )
                store.record(list(told))
                number += 5

    writer = threading.Thread(target=write)
    writer.start()
    yield url
    done.set()
    writer.join()


def test_running_writers_cause_no_alarm(spark: SparkSession, writing: str) -> None:
    for repair in (False, True):
        checked = job.check(spark, Settings(store=writing), repair=repair)
        assert checked.first_audit.count_errors() == {}
        assert checked.errors_left == 0


class _Running:
    """The session of the tests, which is not to be stopped."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, name: str, **_: object) -> _Running:
        return self

    def __getattr__(self, name: str) -> object:
        return (lambda: None) if name == "stop" else getattr(self._spark, name)


def test_the_command_ends_with_1_where_something_is_wrong(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fll_hbase.cli.commands.spark.common.session", _Running(spark))
    damaged(url, DAMAGE[0][0])
    found = CliRunner().invoke(group, ["check", "--store", url])
    said = json.loads(found.stdout)
    assert (found.exit_code, said["wrong"]) == (1, {"missing reference": 1})
    (example,) = said["examples"]["missing reference"]
    assert example.startswith("b|")
    assert " is missing, says r|" in example
    mended = CliRunner().invoke(group, ["check", "--repair", "--store", url])
    assert (mended.exit_code, json.loads(mended.stdout)["left"]) == (0, {})
    assert CliRunner().invoke(group, ["check", "--store", url]).exit_code == 0
