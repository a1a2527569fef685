"""Exports of other systems give the store of their events, however often and interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.cli.commands.record import BATCH_DOCUMENTS
from fll_hbase.keys import layout
from fll_hbase.tables import Table, open_table
from tests.support import marquez_rows, openmetadata_lineage, spline_plans
from tests.support.commands import complaint, complaints, fll
from tests.support.repository import ROOT
from tests.support.store_copies import answers
from tests.support.table_cells import cells, comparable_cells
from tests.support.waiting import PATIENCE_SECONDS, eventually

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
MAIN = "import sys; from api.command import main; main(sys.argv[1:])"
PEAK = """
import atexit, sys
from api.command import main
atexit.register(lambda: print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]))
main(sys.argv[1:])
"""
"""Prints the peak of resident memory in kB as the last line."""


def url(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}.db"


def counts(output: str) -> list[int]:
    """The numbers of the last line: rows, recorded, replaced, repeated, refused, runs."""
    return [int(number) for number in re.findall(r"\d+", output.splitlines()[-1])]


def content(folder: Path, name: str, read: Callable[[Table], Any]) -> Any:
    """The result of `read` for the store of this name."""
    table = open_table(url(folder, name))
    try:
        return read(table)
    finally:
        table.close()


@pytest.mark.parametrize("count", [pytest.param(10_000, marks=pytest.mark.long), 300])
def test_rows_of_marquez_give_the_store_of_their_events(tmp_path: Path, count: int) -> None:
    lines, rows = marquez_rows.ndjson(count)
    (tmp_path / "rows.ndjson").write_bytes(rows)
    expected = fll("record", "-", "--store", url(tmp_path, "events"), stdin=lines)
    command = ("record", "--marquez", str(tmp_path / "rows.ndjson"), "--store", url(tmp_path, "rows"))
    result = fll(*command)
    assert (result.exit_code, complaints(result)) == (0, complaints(expected))
    read, recorded, replaced, repeated, refused, runs = counts(result.stdout)
    assert [recorded, replaced, repeated, refused] == counts(expected.stdout)
    assert read == count == recorded + repeated
    assert replaced == refused == 0
    assert repeated > count / 100
    assert 0 < runs < recorded
    assert content(tmp_path, "rows", answers) == content(tmp_path, "events", answers)
    stored = content(tmp_path, "rows", comparable_cells)
    assert len(stored) > count
    assert stored == content(tmp_path, "events", comparable_cells)
    # Events that only describe datasets have no run that could be repeated.
    again = counts(fll(*command).stdout)
    assert again[0] == count
    assert again[3] > count * 0.9
    assert content(tmp_path, "rows", comparable_cells) == stored


@pytest.mark.slow
def test_a_killed_command_is_repeated(tmp_path: Path) -> None:
    lines, rows = marquez_rows.ndjson(BATCH_DOCUMENTS + 100)
    command = [sys.executable, "-c", MAIN, "record", "--marquez", "-", "--store", url(tmp_path, "killed")]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        # Some rows are missing, so the command cannot reach its end.
        process.stdin.write(rows[:-1_000])
        process.stdin.flush()
        eventually(lambda: has_runs(tmp_path, "killed"), "some rows are recorded")
        process.kill()
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    killed = content(tmp_path, "killed", cells)
    result = fll("record", "--marquez", "-", "--store", url(tmp_path, "killed"), stdin=rows)
    assert result.exit_code == 0
    assert counts(result.stdout)[0] == BATCH_DOCUMENTS + 100
    assert len(content(tmp_path, "killed", cells)) > len(killed)
    fll("record", "-", "--store", url(tmp_path, "events"), stdin=lines)
    # A killed commit may leave cells that no answer shows, so only answers are equal.
    assert content(tmp_path, "killed", answers) == content(tmp_path, "events", answers)


def has_runs(folder: Path, name: str) -> bool:
    """Whether a store exists and has the row of a run."""
    if not (folder / f"{name}.db").exists():
        return False
    return bool(content(folder, name, lambda table: any(True for _ in table.scan(layout.RUNS, b"r}"))))


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (1_000, 50_000):
        file = tmp_path / f"{count}.ndjson"
        with file.open("wb") as stream:
            for start in range(0, count, 1_000):
                stream.write(marquez_rows.ndjson(1_000, seed=start)[1])
        # Recording fills the caches of the store up to their bounds, whatever the file.
        command = [sys.executable, "-c", PEAK, "record", "--dry-run", "--marquez", str(file)]
        command += ["--store", url(tmp_path, "none")]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
        peaks.append(counts(done.stdout)[0])
    assert peaks[1] < peaks[0] * 1.2


def test_refused_rows_are_reported_with_their_line(target: tuple[str, str]) -> None:
    rows = marquez_rows.ndjson(3)[1] + b'{"event": null}\n{"x": 1}\n'
    result = fll("record", "-", "--marquez", *target, stdin=rows)
    assert result.exit_code == 1
    assert result.stdout.startswith("5 rows of Marquez: ")
    assert ", 2 refused; " in result.stdout
    first, second = complaints(result)
    assert first == "line 4: refused: event: Expected `object`, got `null`"
    assert second == "line 5: refused: event: missing"


def test_executions_of_spline_are_counted(target: tuple[str, str]) -> None:
    executions = [spline_plans.execution(), spline_plans.execution(5), spline_plans.execution(-1)]
    raw = spline_plans.line(spline_plans.join(), *executions) + b"{}\n"
    result = fll("record", "-", "--spline", "--namespace", "shop", *target, stdin=raw)
    assert result.exit_code == 1
    assert result.stdout == "4 executions of Spline: 2 recorded, 0 replaced, 0 repeated, 2 refused; 2 runs\n"
    first, second = complaints(result)
    assert first == "line 1: refused: executionEvents.2.timestamp: must be from 0 to below 253402300800000"
    assert second.startswith("line 2: refused: executionPlan.operations.write")


def test_lineage_of_openmetadata_is_repeated(target: tuple[str, str], tmp_path: Path) -> None:
    document = openmetadata_lineage.shop()
    # Only a file gives an edge a time of its own.
    del document["upstreamEdges"][2]["lineageDetails"]["updatedAt"]
    (tmp_path / "lineage.ndjson").write_bytes(openmetadata_lineage.line(document) * 2 + b"{}\n")
    services = ("--service", "pg=postgres://db:5432", "--service", "my=mysql://my:3306")
    command = ("record", "lineage.ndjson", "--openmetadata", "--namespace", "om", *services, *target)
    results = [fll(*command) for _ in range(2)]
    assert [result.exit_code for result in results] == [1, 1]
    title = "5 entities and pipelines of OpenMetadata"
    assert [result.stdout for result in results] == [
        f"{title}: 2 recorded, 0 replaced, 2 repeated, 1 refused; 2 runs\n",
        f"{title}: 0 recorded, 0 replaced, 4 repeated, 1 refused; 2 runs\n",
    ]
    assert complaints(results[0])[-1] == "line 3: refused: upstreamEdges: missing"


def test_a_dry_run_has_no_runs_to_count(target: tuple[str, str]) -> None:
    result = fll("record", "-", "--marquez", "--dry-run", *target, stdin=marquez_rows.ndjson(3)[1])
    assert result.stdout.endswith(
        "Dry run, nothing is stored: 3 rows of Marquez: 3 would be recorded, 0 refused\n"
    )


def test_rows_without_the_option_are_recognized(target: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_bytes(marquez_rows.ndjson(2)[1])
    result = fll("record", "rows.json", *target)
    assert result.exit_code == 1
    assert "fll: rows.json has rows of Marquez: fll record --marquez rows.json" in result.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--marquez",), "Missing argument 'FILE'"),
        (("--marquez", "--spline", "x.json"), "Give one of --marquez, --spline."),
        (("--spline", "x.json"), "--spline needs --namespace, the namespace of the jobs"),
        (("--service", "a=b", "x.json"), "--service needs --openmetadata."),
        (
            ("--openmetadata", "--service", "a=", "x.json"),
            "--namespace, the namespace of the jobs. --service a=: ",
        ),
        (
            ("x.sql", "--marquez", "--namespace", "n", "--application", "a", "--program", "p"),
            "--marquez cannot",
        ),
        (("--dbt", "t", "--marquez"), "--marquez cannot be combined with --sql, --pipeline or --dbt"),
    ],
)
def test_other_inputs_are_refused(tmp_path: Path, options: tuple[str, ...], text: str) -> None:
    for name in ("x.sql", "x.json"):
        (tmp_path / name).write_text("SELECT 1")
    assert text in complaint("record", *options, code=2)
