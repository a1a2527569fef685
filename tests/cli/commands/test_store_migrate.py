"""`fll store migrate`: stores of an earlier release are refused until it has ended, then asked as before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.cli.commands import store as command
from fll_hbase.keys import calendars, layout
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.tables import back_up, open_table
from tests.support.commands import complaint, fll, printed
from tests.support.earlier_release import make_earlier_store
from tests.support.store_copies import answers
from tests.support.waiting import eventually

QUESTION = ("lineage", "bank", "DailyTransactions", "--json", "--store")


def earlier_copy(url: str, path: Path) -> str:
    """Make a copy of a store as an earlier release left it; return its URL."""
    back_up(url, str(path), overwrite=False, report=lambda *_: None)
    copy = f"sqlite:///{path}"
    make_earlier_store(copy)
    return copy


@pytest.fixture
def earlier(recent: str, tmp_path: Path) -> str:
    return earlier_copy(recent, tmp_path / "earlier.db")


ROW_BY_ROW = """
import sys
from fll_hbase.api.command import main
from fll_hbase.store.maintenance import garbage_collection
garbage_collection.PAGE_ROWS = 1
main(["store", "migrate", "--store", sys.argv[1]])
"""
"""A migration that takes long enough to be killed in the middle."""

REFUSED: Sequence[tuple[str, ...]] = (
    ("lineage", "bank", "DailyTransactions"),
    ("find", "x"),
    ("runs", "bank", "DailyTransactions"),
    ("record", "-"),
    ("sample",),
    ("serve",),
    ("retention", "--dry-run"),
    ("spark", "retention", "--dry-run"),
    ("spark", "export", "out"),
    ("spark", "load", "*.ndjson", "--rejects", "rejects"),
)


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_reads_or_records_refuses_it(earlier: str, arguments: tuple[str, ...]) -> None:
    line = complaint(*arguments, "--store", earlier, code=2)
    assert "was written by an earlier release" in line
    assert "run `fll store migrate`" in line
    assert printed("store", "migrate", "--store", earlier)


@pytest.mark.parametrize("arguments", [("table", "scan", "c|"), ("token", "list")], ids=" ".join)
def test_what_needs_no_calendars_reads_it(earlier: str, arguments: tuple[str, ...]) -> None:
    assert fll(*arguments, "--store", earlier).exit_code == 0


def test_workers_of_spark_refuse_it(earlier: str) -> None:
    with pytest.raises(ConfigurationError, match="fll store migrate"):
        worker_store(Settings(store=earlier))


def test_it_is_asked_as_before(earlier: str, recent: str) -> None:
    output = printed("store", "migrate", "--store", earlier)
    assert output.startswith("migrated: 1")
    assert "ways" in output
    assert printed(*QUESTION, earlier) == printed(*QUESTION, recent)
    with closing(open_table(earlier)) as table, closing(open_table(recent)) as source:
        assert answers(table) == answers(source)
    assert printed("store", "migrate", "--store", earlier) == "nothing to do: the store has its calendars\n"


def test_as_json(earlier: str) -> None:
    report = json.loads(printed("store", "migrate", "--store", earlier, "--format", "json"))
    assert report.keys() == {"migrated", "runs", "ways", "days", "horizons", "unreadable"}
    assert (report["migrated"], report["horizons"], report["unreadable"]) == (True, 0, 0)
    assert report["ways"] > report["days"] > 0
    assert report["runs"] >= report["days"]
    again = json.loads(printed("store", "migrate", "--store", earlier, "--format", "json"))
    assert again == {**dict.fromkeys(report, 0), "migrated": False}


def test_an_empty_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    open_table(url).close()
    assert "has no runs" in printed("store", "migrate", "--store", url)


def test_the_store_of_the_environment(earlier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_STORE", earlier)
    assert printed("store", "migrate").startswith("migrated")


def test_lines_show_the_progress_where_there_is_no_terminal(
    earlier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LINE_SECONDS", 0.0)
    result = fll("store", "migrate", "--store", earlier)
    assert result.exit_code == 0
    first, *_, last = result.stderr.splitlines()
    assert first.endswith("rows read, datasets")
    assert last.endswith("rows read, runs")


@pytest.mark.slow
def test_a_migration_that_is_killed_is_done_again(sampled: str, tmp_path: Path) -> None:
    earlier = earlier_copy(sampled, tmp_path / "earlier.db")
    process = subprocess.Popen([sys.executable, "-c", ROW_BY_ROW, earlier], stdout=subprocess.DEVNULL)
    with closing(open_table(earlier)) as table:

        def has_begun() -> bool:
            assert process.poll() is None
            return any(table.scan(layout.CALENDARS, b"u}", limit=1))

        eventually(has_begun, "the migration is under way")
        process.kill()
        process.wait()
        assert not table.get(calendars.MARK_ROW)
    assert "fll store migrate" in complaint(*QUESTION, earlier, code=2)
    assert printed("store", "migrate", "--store", earlier).startswith("migrated")
    assert printed(*QUESTION, earlier) == printed(*QUESTION, sampled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--store", "sqlite:///gone.db"), "there is no store at sqlite:///gone.db"),
        (("--store", "nosql:///x"), "names no engine"),
        (("--url", "sqlite:///x.db"), "No such option '--url'"),
        (("sqlite:///x.db",), "Got unexpected extra argument (sqlite:///x.db)"),
        (("--format", "csv", "--store", "sqlite:///gone.db"), "'csv' is not one of"),
        (("--store",), "Option '--store' requires an argument"),
    ],
    ids=range(6),
)
def test_mistyped_options(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in complaint("store", "migrate", *arguments, code=2)
    assert not list(tmp_path.glob("*.db"))


def test_a_gateway_that_is_not_there() -> None:
    line = complaint("store", "migrate", "--store", "hbase://127.0.0.1:1/lineage", code=1)
    assert "127.0.0.1:1" in line


def test_help_says_what_has_to_end_first() -> None:
    text = printed("store", "migrate", "--help")
    assert "End all servers, jobs" in text
    assert "fll store migrate --store" in text
