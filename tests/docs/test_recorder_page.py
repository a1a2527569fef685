"""docs/record/python.md shows code that records, and output of a replay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fll_hbase.recorder import Recorded, Spooled
from fll_hbase.recorder.circuit import PROBE_SECONDS
from fll_hbase.runtime.config import DEFAULTS
from tests.support.commands import fll, printed

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "record" / "python.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]  # type: ignore[index]


def run_example(url: str) -> object:
    names: dict[str, object] = {}
    exec(compile(CODE.replace("http://127.0.0.1:8080", url), "recorder.md", "exec"), names)
    return names["outcome"]


def test_the_code_shown_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(run_example(f"sqlite:///{tmp_path}/store.db"), Recorded)


@pytest.mark.slow
def test_the_code_shown_spools_and_the_command_shown_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLL_RECORDER_SECONDS", "0")
    for _ in range(30):
        assert isinstance(run_example("http://127.0.0.1:1"), Spooled)
    command, output = re.search(r"^\$ fll (replay spool) --server .*\n(.*)$", PAGE, re.MULTILINE).groups()  # type: ignore[union-attr]
    assert printed(*command.split(), "--store", f"sqlite:///{tmp_path}/store.db") == output + "\n"
    assert fll("runs", "crm", "contacts", "--store", f"sqlite:///{tmp_path}/store.db").exit_code == 0


def test_the_limits_shown_are_the_defaults() -> None:
    text = " ".join(PAGE.split())
    assert f"`FLL_RECORDER_SECONDS`, {DEFAULTS.recorder_seconds} s" in text
    assert f"`FLL_SPOOL_FILES_MAX` ({DEFAULTS.spool_files_max:,})" in text
    assert f"`FLL_SPOOL_BYTES_MAX` ({DEFAULTS.spool_bytes_max // 2**20} MiB)" in text
    assert f"waits at most {PROBE_SECONDS:g} s" in text
