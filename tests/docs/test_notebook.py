"""The notebook runs from top to bottom on the sample, and prints what it shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fll_hbase.cli import main
from fll_hbase.client.connection import Connection

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "questions.ipynb"

# In a process of its own, as a kernel is; it prints the output of each cell as a line of JSON.
RUNNER = """
import contextlib, io, json, sys
scope = {"__name__": "__main__"}
for source in json.load(sys.stdin):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(source, "cell", "exec"), scope)
    print(json.dumps(output.getvalue()))
"""


@pytest.mark.slow
def test_every_cell_prints_what_the_notebook_shows(tmp_path: Path) -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    store = f"sqlite:///{tmp_path}/data/field_level_lineage.db"
    (tmp_path / "data").mkdir()
    assert CliRunner().invoke(main, ["sample", "--store", store]).exit_code == 0
    sources = json.dumps(["".join(cell["source"]) for cell in cells])
    completed = subprocess.run(
        [sys.executable, "-c", RUNNER], input=sources, cwd=tmp_path, capture_output=True, text=True
    )
    assert completed.returncode == 0, completed.stderr
    printed = [json.loads(line) for line in completed.stdout.splitlines()]
    shown = ["".join(line for item in cell["outputs"] for line in item["text"]) for cell in cells]
    assert printed == shown
    assert len(shown) >= 9


def test_every_question_is_on_the_page() -> None:
    page = (NOTEBOOK.parent / "ask" / "python.md").read_text(encoding="utf-8")
    questions = [name for name in vars(Connection) if not name.startswith("_")]
    assert len(questions) >= 12
    assert [name for name in questions if f"`{name}(" not in page] == []


def test_the_notebook_is_one_that_viewers_read() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert {cell["cell_type"] for cell in notebook["cells"]} == {"markdown", "code"}
