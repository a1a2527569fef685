"""`fll policy check`: events on standard output or to a webhook, restarted in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import complaint, fll, printed
from tests.support.repository import ROOT
from tests.support.threaded_server import HttpServer, in_thread

COMMAND = [sys.executable, "-c", "from api.command import main; main()"]


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/store.db"
    printed("sample", "--store", url, "--end", "2025-10-09")
    printed("tag", "set", "bank/DailyTransactions.UID", "PII", "--store", url)
    printed("policy", "set", "no-pii", "--flow", "--tag", "PII", "--into", "*", "--store", url)
    return url


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("a secret of the tests\n")
    return str(path)


def test_each_violation_is_printed_once(store: str) -> None:
    first = fll("policy", "check", "--store", store)
    assert first.exit_code == 0
    events = [json.loads(line) for line in first.stdout.splitlines()]
    assert len({event["id"] for event in events}) == len(events) > 3
    audience = next(event for event in events if event["data"]["name"] == "CampaignAudience")
    assert audience["type"] == "fll_hbase.flow.violation"
    assert audience["source"] == "/v3/policies/no-pii"
    assert [step.get("kind") for step in audience["data"]["path"]] == [None, "copied", "copied"]
    again = fll("policy", "check", "no-pii", "--store", store, "--since", "2020-01-01")
    assert (again.exit_code, again.stdout) == (0, "")
    assert "new violations: 0" in again.stderr


def test_a_policy_that_can_forbid_nothing_is_named(store: str) -> None:
    printed("policy", "set", "typo", "--flow", "--tag", "PII", "--into", "marketng/*", "--store", store)
    checked = fll("policy", "check", "--store", store)
    assert "typo: no recorded dataset matches its patterns" in checked.stderr
    assert checked.stderr.count("matches its patterns") == 1
    assert checked.exit_code == 0


def test_wrong_options_are_refused(store: str, secret: str) -> None:
    command = ("policy", "check", "--store", store)
    assert "go together" in complaint(*command, "--webhook", "https://h/", code=2)
    assert "not an http" in complaint(*command, "--webhook", "h", "--secret-file", secret, code=2)
    assert "not found" in complaint("policy", "check", "none", "--store", store, code=1)
    printed("policy", "set", "age", "--max-age", "1d", "--tag", "PII", "--store", store)
    assert "report retention" in complaint("policy", "check", "age", "--store", store, code=2)
    assert fll(*command).exit_code == 0


@contextmanager
def receiver(kill_at: int) -> Iterator[tuple[str, list[str], threading.Event]]:
    """The URL of a receiver, the ids of events, and a flag that it sets while it holds back one answer."""
    ids: list[str] = []
    waiting, released = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            ids.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["id"])
            if len(ids) == kill_at:
                waiting.set()
                released.wait(60)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}", ids, waiting
        released.set()


@pytest.mark.slow
def test_a_killed_check_loses_nothing_and_repeats_what_was_under_way(store: str, secret: str) -> None:
    with receiver(kill_at=3) as (url, ids, waiting):
        options = ["policy", "check", "--store", store, "--webhook", url, "--secret-file", secret]
        with subprocess.Popen([*COMMAND, *options], stderr=subprocess.DEVNULL, cwd=ROOT) as process:
            assert waiting.wait(60)
            process.kill()
        before_kill = list(ids)
        assert fll(*options).exit_code == 0
    expected = {json.loads(line)["id"] for line in _everything(store).splitlines()}
    assert set(ids) == expected
    # Only the event whose answer was waiting back is repeated.
    assert ids[len(before_kill) - 1 : len(before_kill) + 1] == [before_kill[-1]] * 2
    assert len(ids) == len(expected) + 1


def _everything(store: str) -> str:
    """Return the events of the same policy in a copy of the store without the state of its checks."""
    path = store.removeprefix("sqlite:///").replace("store.db", "copy.db")
    printed("sample", "--store", f"sqlite:///{path}", "--end", "2025-10-09")
    options = ("--store", f"sqlite:///{path}")
    printed("tag", "set", "bank/DailyTransactions.UID", "PII", *options)
    printed("policy", "set", "no-pii", "--flow", "--tag", "PII", "--into", "*", *options)
    return fll("policy", "check", *options).stdout
