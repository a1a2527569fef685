"""The notebook runs from top to bottom on the sample and shows its outputs, which `--update` stores."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from fll_hbase.cli import main
from fll_hbase.client.connection import Connection

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "questions.ipynb"

# In a process of its own, as a kernel is; it prints what each cell shows as a line of JSON. As in a kernel,
# the last expression of a cell is shown in all of its representations, the text among them.
RUNNER = """
import ast, contextlib, io, json, sys

MIME_TYPES = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
scope = {"__name__": "__main__"}
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(tree, "cell", "exec"), scope)
        value = eval(compile(last, "cell", "eval"), scope) if last else None
    data = {name: getattr(value, method)() for name, method in MIME_TYPES.items() if hasattr(value, method)}
    shown = {} if value is None else {**data, "text/plain": repr(value)}
    print(json.dumps({"text": output.getvalue(), "data": shown}))
"""


def run_cells(sources: Iterable[str], folder: Path) -> list[dict[str, Any]]:
    """Run the sources of cells in a folder with the sample; return what each prints and shows."""
    arguments = ["sample", "--end", "2026-11-01", "--store", f"sqlite:///{folder}/notebook.db"]
    sampled = CliRunner().invoke(main, arguments)
    assert sampled.exit_code == 0, sampled.output
    completed = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([*sources]),
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, completed.stderr
    return [json.loads(line) for line in completed.stdout.splitlines()]


def outputs(shown: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return what a cell shows as the outputs of a notebook; `count` is the number of the cell."""
    listed: list[dict[str, Any]] = []
    if shown["text"]:
        listed.append({"name": "stdout", "output_type": "stream", "text": lines(shown["text"])})
    if shown["data"]:
        data = {name: lines(text) for name, text in sorted(shown["data"].items())}
        listed.append(
            {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        )
    return listed


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@pytest.mark.slow
def test_every_cell_shows_what_is_stored_in_the_notebook(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = run_cells(("".join(cell["source"]) for cell in cells), tmp_path)
    results = [outputs(item, count) for count, item in enumerate(shown, start=1)]
    if request.config.getoption("--update"):
        for count, (cell, result) in enumerate(zip(cells, results, strict=True), start=1):
            cell |= {"execution_count": count, "outputs": result}
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        NOTEBOOK.write_text(f"{text}\n", encoding="utf-8")
    for cell, result in zip(cells, results, strict=True):
        assert cell["outputs"] == result, cell["id"]
    assert len(cells) >= 9


def test_the_notebook_has_pictures_and_tables() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    data = [item["data"] for cell in cells for item in cell.get("outputs", ()) if "data" in item]
    pictures = ["".join(item["image/svg+xml"]) for item in data if "image/svg+xml" in item]
    assert len(pictures) >= 3
    assert all(len(ElementTree.fromstring(picture)) > 5 for picture in pictures)
    assert sum("<table>" in "".join(item.get("text/html", ())) for item in data) >= 3


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
