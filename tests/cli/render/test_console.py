"""Output is plain in a pipe, coloured and folded on a terminal, and has no control characters."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.cli.render.console import format_time
from fll_hbase.runtime.escape import escape_control
from tests.support.commands import FLL
from tests.support.lineage_documents import copying
from tests.support.small_documents import START_MS, document

WIDE = ("lineage", "bank", "DailyTransactions", "--start", "0", "--end", "1760000000")


def on_terminal(*command: str) -> str:
    """Return the output of a command on a terminal of 80 columns."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [FLL, *command], stdout=terminal, stderr=terminal, stdin=terminal, env=environment
    )
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(controller, 65_536):
            seen += chunk
    except OSError:  # the other end is closed: the command has ended
        pass
    finally:
        os.close(controller)
    assert process.wait(120) == 0, seen
    return seen.decode()


def test_a_terminal_gets_colours_and_its_own_width(sampled: str) -> None:
    seen = on_terminal(*WIDE, "--store", sampled)
    plain = re.sub("\x1b\\[[0-9;]*m", "", seen)
    assert "\x1b[1m" in seen
    assert max(map(len, plain.splitlines())) <= 80


@pytest.mark.slow
def test_a_pipe_gets_neither(sampled: str) -> None:
    completed = subprocess.run([FLL, *WIDE, "--store", sampled], capture_output=True, text=True, check=True)
    assert "\x1b" not in completed.stdout
    assert max(map(len, completed.stdout.splitlines())) > 100
    assert all(line == line.rstrip() for line in completed.stdout.splitlines())
    assert completed.stderr == ""


@pytest.mark.slow
def test_a_pipe_that_cannot_say_a_name_gets_it_escaped(sampled: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [FLL, "find", "🙂", "--store", sampled]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "\\U0001f642" in completed.stdout


@pytest.mark.slow
def test_a_bar_moves_where_somebody_watches(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    seen = on_terminal("sample", "--store", store)
    assert "%" in seen
    assert "Ask next:" in seen
    (tmp_path / "run.json").write_text(json.dumps(document()))
    seen = on_terminal("record", str(tmp_path / "run.json"), "--store", store)
    assert "100%" in seen
    assert "1 recorded" in seen.rpartition("100%")[2]


@given(st.text())
def test_escaped_text_has_no_control_characters(text: str) -> None:
    safe = escape_control(text)
    assert not any(character in safe for character in "\x00\n\r\t\x1b\x7f\x9b\u2028\u202e\u2066")
    safe.encode()
    if text.isprintable():
        assert safe == text


def test_emoji_stay_whole() -> None:
    assert escape_control("👩‍🔬 é e\u0301") == "👩‍🔬 é e\u0301"


def test_moments() -> None:
    assert format_time(START_MS) == "2025-10-09 08:36:40"
    assert format_time(START_MS + 7) == "2025-10-09 08:36:40.007"
    assert format_time(0) == "1970-01-01 00:00:00"
    assert format_time(2**63 - 2) == f"{2**63 - 2} ms"


HOSTILE = "a\x1b]0;title\x07\x9b2J\u202eb\rc"


@pytest.mark.slow
@pytest.mark.parametrize("output_format", ["csv", "mermaid", "graphml", "json", "table"])
def test_names_do_nothing_to_a_terminal(tmp_path: Path, output_format: str) -> None:
    """A name that would set the title, clear the screen or turn the direction is shown escaped."""
    store = f"sqlite:///{tmp_path}/hostile.db"
    names = {"namespace": "ns", "name": HOSTILE}
    path = tmp_path / "document.json"
    path.write_text(json.dumps(copying(names, "out", "x")))
    subprocess.run([FLL, "record", str(path), "--namespace", "ns", "--store", store], check=True)
    command = ("reach", "ns", "out", "x", "--start", "0", "--end", "now", "--format", output_format)
    seen = on_terminal(*command, "--store", store)
    plain = re.sub("\x1b\\[[0-9;]*m", "", seen)
    assert not set(plain) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "title" in plain
    piped = subprocess.run([FLL, *command, "--store", store], capture_output=True, text=True, check=True)
    if output_format == "json":
        assert json.loads(piped.stdout)["nodes"] == json.loads(plain)["nodes"]
    if output_format == "csv":
        assert "\x9b2J\u202eb" in piped.stdout
