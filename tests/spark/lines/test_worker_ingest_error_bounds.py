"""Errors of rejected lines and rows are bounded on Spark's workers as they are everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ERRORS_COUNTED_MAX, ERRORS_LISTED_MAX, InputError
from fll_hbase.spark.datasource.writer import LineageWriter
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.lines.worker_ingest import REJECTED, Target, ingest_batches


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """An empty store in a file."""
    return Target(Settings(store=f"sqlite:///{tmp_path}/store.db"), "shop")


def nonsense(errors: int) -> bytes:
    """A document with that many errors in its operations."""
    return json.dumps({"run": {}, "operations": [1] * errors}).encode()


def test_a_rejected_line_lists_its_first_errors_and_counts_the_others(target: Target) -> None:
    columns = {VALUE: [nonsense(5_000)], FILE: ["f"], BLOCK: [0], POSITION: [1], TIME_MS: [0]}
    (outcomes,) = ingest_batches(iter([pa.RecordBatch.from_pydict(columns)]), target=target)
    (row,) = outcomes.to_pylist()
    assert row["outcome"] == REJECTED
    assert len(row["faults"]) == ERRORS_LISTED_MAX + 1
    assert row["faults"][-1].endswith("more are not listed; correct these first")


def test_rejected_rows_of_a_frame_share_the_bound(target: Target) -> None:
    rows = pa.RecordBatch.from_pydict({VALUE: [nonsense(500)] * 30})
    with pytest.raises(InputError) as caught:
        LineageWriter(target, 0).write(iter([rows]))
    assert len(caught.value.errors) == ERRORS_LISTED_MAX + 1
    assert caught.value.count == ERRORS_COUNTED_MAX
    assert caught.value.errors[0].path.startswith("row 1 of partition 0")
