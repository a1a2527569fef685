"""Incremental exports to real Delta and Iceberg tables, across a kill; Spark 4.3 has no release of either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
RUNS = [[1, "one"], [1, "two"], [2, "three"], [2, "two"], [3, "four"]]
FIELDS = {1: "x", 2: "y", 3: "z"}


@pytest.mark.long
def test_each_batch_is_in_the_tables_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HOME / "tests/support/lake/process.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env={**os.environ, "PYTHONPATH": str(HOME)},
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert sorted(results) == ["delta", "iceberg"]
    for tables in results.values():
        assert tables["runs"] == [[batch, run, "1970-01-01"] for batch, run in RUNS]
        assert tables["edges"] == [[batch, run, FIELDS[batch]] for batch, run in RUNS]
        assert {batch for batch, *_ in tables["catalogue"]} == {1, 2, 3}
        assert len(tables["catalogue"]) == 4 + 6 + 8
