"""`fll store` copies stores and backs up files."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.store.copying import progress
from fll_hbase.tables import Put, open_table
from tests.support.commands import FLL, complaint, fll, printed
from tests.support.engines import Hbase
from tests.support.store_copies import answers, stamped_catalogue, stored
from tests.support.waiting import PATIENCE_SECONDS, eventually


@pytest.mark.slow
def test_a_copy_is_verified(recent: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/copy.db"
    output = printed("store", "copy", "--from", recent, "--to", url)
    assert "complete after 2 passes" in output
    for line in output.splitlines():
        if line.startswith("runs "):
            marks = line.split()[-2:]
            assert marks[0] == marks[1]
    with closing(open_table(recent)) as source, closing(open_table(url)) as target:
        assert stored(target) == stored(source)
        assert stamped_catalogue(target) == stamped_catalogue(source)
        assert answers(target) == answers(source)
    assert "--update" in complaint("store", "copy", "--from", recent, "--to", url, code=2)
    summary = json.loads(
        printed("store", "copy", "--from", recent, "--to", url, "--update", "--format", "json")
    )
    assert (summary["complete"], summary["put"], summary["passes"]) == (True, 0, 1)
    assert summary["kinds"]["runs"]["mark"] == summary["kinds"]["runs"]["targetMark"]


@pytest.mark.slow
def test_a_copy_that_needs_more_passes_fails(recent: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/copy.db"
    result = fll("store", "copy", "--from", recent, "--to", url, "--passes", "1")
    assert result.exit_code == 1
    assert "not complete after 1 passes" in result.stdout
    assert "run the same command again" in result.stderr
    assert "complete it with `fll store copy`" in complaint(
        "store", "copy", "--from", url, "--to", "sqlite:///other.db", code=2
    )
    assert printed("store", "copy", "--from", recent, "--to", url)


@pytest.mark.slow
def test_a_copy_that_is_killed_goes_on(sampled: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/copy.db"
    arguments = ("store", "copy", "--from", sampled, "--to", url)
    process = subprocess.Popen([FLL, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with closing(open_table(url)) as target:

        def has_begun() -> bool:
            assert process.poll() is None
            current = progress.read_progress(target)
            return current is not None and bool(current.kind)

        eventually(has_begun, "the copy is under way")
        process.kill()
        process.wait()
        current = progress.read_progress(target)
        assert current is not None
        assert not current.is_complete
    assert "complete after" in printed(*arguments)
    with closing(open_table(sampled)) as source, closing(open_table(url)) as target:
        assert stored(target) == stored(source)


def test_other_targets_are_refused(recent: str, tmp_path: Path) -> None:
    foreign = tmp_path / "notes.db"
    foreign.write_text("notes, not a database: longer than the header of one" * 10)
    assert "notes.db" in complaint("store", "copy", "--from", recent, "--to", f"sqlite:///{foreign}", code=1)
    assert "one store" in complaint("store", "copy", "--from", recent, "--to", recent, code=2)
    assert "names no engine" in complaint("store", "copy", "--from", recent, "--to", "x.db", code=2)
    assert "there is no store" in complaint(
        "store", "copy", "--from", "sqlite:///none.db", "--to", "sqlite:///new.db", code=2
    )
    assert "in memory" in complaint("store", "copy", "--from", recent, "--to", "sqlite:///:memory:", code=2)
    full = f"sqlite:///{tmp_path}/full.db"
    with closing(open_table(full)) as table:
        table.write([[Put(b"z", b"d:x", b"")]])
    assert "rows of its own" in complaint("store", "copy", "--from", recent, "--to", full, code=2)


def test_a_backup_is_a_store(recent: str) -> None:
    assert "MiB of" in printed("store", "backup", "backup.db", "--store", recent)
    assert "--overwrite" in complaint("store", "backup", "backup.db", "--store", recent, code=2)
    missing = complaint("store", "backup", "missing/backup.db", "--store", recent, code=2)
    assert "missing/backup.db cannot be created: make the directory missing first" in missing
    assert printed("store", "backup", "backup.db", "--overwrite", "--store", recent)
    question = ("lineage", "bank", "DailyTransactions", "--json", "--store")
    assert printed(*question, "sqlite:///backup.db") == printed(*question, recent)
    assert "snapshots" in complaint("store", "backup", "b.db", "--store", "hbase://localhost/t", code=2)


@pytest.fixture
def patient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls to a store may take as long as a busy machine needs."""
    monkeypatch.setenv("FLL_STORE_TIMEOUT_MS", str(int(1_000 * PATIENCE_SECONDS)))


@pytest.mark.usefixtures("patient_store")
def test_to_hbase_and_back(recent: str, hbase: Hbase, tmp_path: Path) -> None:
    url, back = hbase.fresh(), f"sqlite:///{tmp_path}/back.db"
    assert "complete after 2 passes" in printed("store", "copy", "--from", recent, "--to", url)
    assert "complete after 2 passes" in printed("store", "copy", "--from", url, "--to", back)
    with closing(open_table(recent)) as source, closing(open_table(back)) as target:
        assert stored(target) == stored(source)
        assert stamped_catalogue(target) == stamped_catalogue(source)
        with closing(open_table(url)) as middle:
            assert stored(middle) == stored(source)
            assert answers(middle) == answers(source)


@pytest.mark.usefixtures("patient_store")
def test_a_copy_on_hbase_follows_its_source(recent: str, hbase: Hbase, tmp_path: Path) -> None:
    """Runs that are purged from the source go from the copy, too."""
    url, source = hbase.fresh(), f"sqlite:///{tmp_path}/source.db"
    printed("store", "copy", "--from", recent, "--to", source)
    printed("store", "copy", "--from", source, "--to", url)
    with closing(open_table(source)) as table:
        cells = [(key, column) for key, row in table.scan(b"r|", b"r|8") for column in row]
        table.delete(cells, until_ms=2**62)  # type: ignore[arg-type]
    printed("store", "copy", "--from", source, "--to", url, "--update")
    with closing(open_table(source)) as table, closing(open_table(url)) as target:
        assert stored(target) == stored(table)


@pytest.mark.parametrize("command", ["copy", "backup"])
def test_help_has_an_example(command: str) -> None:
    assert f"fll store {command}" in printed("store", command, "--help")
