"""Docs that cannot rot: every command of these pages prints what the page shows below it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from api import create_app
from api.command import main
from fll_hbase.runtime import clock
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.tour import DOCS, END_MS, PAGES, REST_PAGES, Shown, shown, shown_requests

LAST_DAYS = "2025-09-09 08:53:20 to 2025-10-09 08:53:20 UTC"
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


@pytest.mark.slow
def test_every_command_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLL_STORE", raising=False)
    for item in shown():
        assert _printed(item) == item.output, f"{item.page}:{item.line}: {item.source}"
    # The pages about REST have examples on the same sample.
    for url, body in shown_requests():
        assert json.loads(_get(url)) == json.loads(body), url


def test_the_page_shows_commands_of_each_kind() -> None:
    words = {item.source.split()[0] for item in shown()}
    assert {"fll", "curl", "from", "echo"} <= words
    assert {item.page for item in shown()} == set(PAGES)
    assert {
        page for page in REST_PAGES for url, _ in shown_requests() if url in (DOCS / page).read_text()
    } == set(REST_PAGES)


def _printed(item: Shown) -> str:
    if item.source.startswith("fll "):
        return _fll(shlex.split(item.source)[1:])
    if item.source.startswith("curl "):
        return _curl(shlex.split(item.source))
    if item.source.startswith("echo "):
        return subprocess.run(item.source, shell=True, check=True, text=True, stdout=subprocess.PIPE).stdout
    # Here `fll` uses the store itself: no server to export is there.
    if not item.source.startswith("export FLL_SERVER="):
        exec(compile(item.source, f"{item.page}:{item.line}", "exec"), {})
    return ""


def _fll(arguments: list[str]) -> str:
    """The output, by the clock of the tour; what a program recorded just now needs the real one."""
    is_now = any(re.match("(web)?shop(/|$)", argument) for argument in arguments)
    clock = (lambda: time.time_ns() // 1_000_000) if is_now else (lambda: END_MS)
    result = CliRunner().invoke(main, arguments, obj=clock)
    assert result.exit_code == 0, result.output
    output = re.sub(rf"{_TIME} to {_TIME} UTC", LAST_DAYS, result.output) if is_now else result.output
    return output.rstrip("\n")


def _curl(words: list[str]) -> str:
    """The answer as `json.tool` prints it."""
    curl, silent, url, pipe, *tool = words
    assert [curl, silent, pipe, *tool] == ["curl", "-s", "|", "python3", "-m", "json.tool", "--indent", "2"]
    return json.dumps(json.loads(_get(url)), indent=2)


def _get(url: str) -> str:
    """The body of an answer of the server, by the clock of the tour."""
    parts = urlsplit(url)
    store = LineageStore(open_table(Settings().store))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "now_ms", lambda: END_MS)
            response = create_app(store, Settings()).test_client().get(f"{parts.path}?{parts.query}")
    finally:
        store.close()
    assert response.status_code == 200
    return response.text
