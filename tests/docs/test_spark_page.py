"""docs/record/spark.md begins with a job that is captured as shown."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import FLL, serving

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "record" / "spark.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)[0]
HOME = "/home/anna"
"""Folder in which the page shows the commands."""


def rows(table: str) -> list[list[str]]:
    """Return the cells below the title of a printed table; the lengths of names decide its spaces."""
    return [line.split() for line in table.splitlines() if line and not line.startswith(("Where ", "─"))]


@pytest.mark.slow
def test_the_job_shown_is_captured_as_shown(tmp_path: Path) -> None:
    *jobs, query = re.split(r"^\$ ", SHOWN, flags=re.MULTILINE)[1:]
    command, _, printed = query.partition("\n")
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as url:
        script = "\n".join([*jobs, command]).replace("http://127.0.0.1:8080", url)
        path = f"{Path(FLL).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "FLL_CAPTURE_SPOOL": str(tmp_path / "spool")}
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=tmp_path,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    lineage = done.stdout[done.stdout.index("Where ") :]
    assert rows(lineage.replace(str(tmp_path), HOME)) == rows(printed)
