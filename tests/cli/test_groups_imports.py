"""A start costs what its command needs: the modules that each command and client imports are counted."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_LIBRARIES = ("apsw", "flask", "gunicorn", "happybase", "pyspark", "requests", "rich", "sqlglot", "sqlite3")
_CONNECT = """
from fll_hbase import connect
connect("http://127.0.0.1:1").close()
"""
_REPORT = """
import json, sys
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def command(*arguments: str) -> str:
    """Return a program that executes a command of `fll`, and goes on."""
    return f"""
import contextlib
from fll_hbase.api.command import main
with contextlib.suppress(SystemExit):
    main({list(arguments)!r})
"""


def imported(program: str) -> list[str]:
    """Return the modules that a process has imported once it has executed a program."""
    done = subprocess.run(
        [sys.executable, "-c", program + _REPORT], capture_output=True, text=True, check=True
    )
    modules: list[str] = json.loads(done.stderr)
    return modules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "libraries", "modules_max"),
    [
        (command("--version"), [], 150),
        (command("--help"), [], 180),
        (command("field", "--help"), ["rich"], 330),
        (command("report", "consumption", "--help"), ["rich"], 400),
        (command("diff", "--help"), ["rich"], 330),
        (command("record", "--help"), ["rich"], 330),
        (command("capture", "run", "--help"), [], 220),
        (_CONNECT, ["requests"], 500),
        ("import fll_hbase.recorder", ["requests"], 500),
    ],
    ids=["version", "help", "field", "report", "diff", "record", "capture", "connect", "recorder"],
)
def test_what_is_imported(program: str, libraries: list[str], modules_max: int) -> None:
    modules = imported(program)
    assert [name for name in _LIBRARIES if name in modules] == libraries
    assert "fll_hbase.store.lineage_store" not in modules
    assert len(modules) <= modules_max


def test_completion_imports_no_command() -> None:
    program = """
import sys
from click.shell_completion import ShellComplete
from fll_hbase.api.command import main
completion = ShellComplete(main, {}, "fll", "_FLL_COMPLETE")
names = [item.value for item in completion.get_completions([], "re")]
assert names == ["reach", "record", "replay", "report", "retention"], names
"""
    modules = imported(program)
    commands = [name for name in modules if name.startswith("fll_hbase.cli.commands.")]
    assert not commands
