"""`fll report --output` and `fll report retention --all`."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from werkzeug.serving import make_server

from api import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.keys import layout
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store
from fll_hbase.tables import Put, open_table
from tests.support.commands import WINDOW, complaint, fll, printed
from tests.support.threaded_server import in_thread

UID = ("report", "consumption", "bank/DailyTransactions.UID", *WINDOW)


@pytest.mark.parametrize("suffix", ["html", "csv", "json", "HTML"])
def test_a_file_has_what_the_format_prints(sampled: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report.{suffix}"
    result = fll(*UID, "--store", sampled, "--output", str(path))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"Wrote {path}.\n")
    expected = printed(*UID, "--store", sampled, "--format", suffix.lower())
    # But for the time at which it was made.
    lines = zip(path.read_bytes().decode().splitlines(), expected.splitlines(), strict=True)
    assert all(line == other or "<dt>Made</dt>" in line for line, other in lines)


def test_a_report_of_a_server_names_its_principal(sampled: str, tmp_path: Path) -> None:
    store = open_store(Settings(store=sampled))
    app, principal = create_app(store), Principal("Ana Ø", (Grant(Role.ADMIN, "*"),))
    server = make_server("127.0.0.1", 0, lambda environ, start: app({**environ, PRINCIPAL: principal}, start))
    path = tmp_path / "report.html"
    with in_thread(server):
        url = f"http://127.0.0.1:{server.server_port}"
        assert fll(*UID, "--server", url, "--output", str(path)).exit_code == 0
    store.close()
    assert "<dt>By</dt><dd>Ana Ø (operating-system user " in path.read_text()
    assert fll(*UID, "--store", sampled, "--output", str(path)).exit_code == 0
    assert "(operating-system user" not in path.read_text()


def test_a_file_of_another_kind_is_refused_and_none_is_left(sampled: str, tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    assert "must end with .html, .csv or .json; a browser prints .html as PDF" in complaint(
        *UID, "--store", sampled, "--output", str(path), code=2
    )
    html = tmp_path / "report.html"
    assert "csv differs" in complaint(
        *UID, "--store", sampled, "--output", str(html), "--format", "csv", code=2
    )
    missing = ("report", "consumption", "bank/Nothing.UID", *WINDOW)
    assert "not found" in complaint(*missing, "--store", sampled, "--output", str(html), code=1)
    inside = tmp_path / "nowhere" / "report.html"
    assert "nowhere does not exist" in complaint(*UID, "--store", sampled, "--output", str(inside), code=2)
    assert not list(tmp_path.iterdir())


def test_a_user_without_a_name_has_a_number(sampled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    assert "<dd>uid 4000000</dd>" in printed(*UID, "--store", sampled, "--format", "html")


@pytest.fixture
def governed(tmp_path: Path) -> tuple[str, str]:
    """A store with the sample and policies: one that is kept, one that is not, one that is not checked."""
    store = ("--store", f"sqlite:///{tmp_path}/governed.db")
    printed("sample", *store, "--end", "2025-10-09")
    printed("tag", "set", "bank/DailyTransactions.UID", "PII", *store)
    for name, age in (("gdpr", "120d"), ("short", "30d"), ("strict", "5y")):
        printed("policy", "set", name, "--max-age", age, "--tag", "PII", *store)
    return store


def test_all_policies_are_one_report(governed: tuple[str, str], tmp_path: Path) -> None:
    question = ("report", "retention", "--all", "--start", "2025-01-01", *governed)
    text = printed(*question)
    titles = [line for line in text.splitlines() if line.startswith("Retention by policy")]
    assert titles == [f"Retention by policy {name}" for name in ("gdpr", "short", "strict")]
    assert "Not kept: 7 of 7 fields were written more than 30d ago" in text
    reports = json.loads(printed(*question, "--json"))["reports"]
    assert [item["verdict"].split(":")[0] for item in reports] == ["Kept", "Not kept", "Not checked"]
    short = json.loads(printed("report", "retention", "short", "--start", "2025-01-01", *governed, "--json"))
    assert [item["field"] for item in short["fields"]] == [item["field"] for item in reports[0]["complying"]]
    page = tmp_path / "all.html"
    assert fll(*question, "--output", str(page)).exit_code == 0
    assert page.read_text().count("<h1>") == 3
    assert "ask for one policy" in complaint(*question, "--format", "csv", code=2)


def test_all_policies_without_damaged_ones_say_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with closing(open_table(url)) as table:
        table.write([[Put(layout.policy_row("p"), layout.POLICY, b"x")]])
    result = fll("report", "retention", "--all", "--store", url)
    assert "fll: not complete: damaged rows are left out" in result.stderr


def test_a_policy_or_all(governed: tuple[str, str], sampled: str) -> None:
    assert "Give a POLICY, or --all" in complaint("report", "retention", *governed, code=2)
    screen, all_rows = (printed("report", "retention", "gdpr", *more, *governed) for more in ((), ("--all",)))
    assert screen == all_rows
    assert printed("report", "retention", "--all", "--store", sampled) == (
        "There is no policy; `fll policy set` sets one.\n"
    )
