"""A worker process keeps what it learns from one partition for the next."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fll_hbase.runtime.config import Settings
from fll_hbase.sources.native import document as native_document
from fll_hbase.spark.lines.line_frames import TIME_MS, VALUE
from fll_hbase.spark.lines.worker_ingest import Target, ingest_batches
from tests.support.small_documents import document


def batch(runs: Sequence[str]) -> pa.RecordBatch:
    values = [json.dumps(document(run)).encode() for run in runs]
    return pa.RecordBatch.from_pydict({VALUE: values, TIME_MS: [0] * len(runs)})


def test_equal_operations_are_parsed_once_in_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever batch and partition they are in."""
    calls: Counter[str] = Counter()
    read_operations = native_document.read_operations

    def count(*arguments: Any, **options: Any) -> native_document.ReadOperations:
        calls["read_operations"] += 1
        return read_operations(*arguments, **options)

    monkeypatch.setattr(native_document, "read_operations", count)
    target = Target(Settings(store=f"sqlite:///{tmp_path}/lineage.db"), "shop")
    partitions = [[batch(["a", "b"]), batch(["c"])], [batch(["d", "e"])]]
    outcomes = [
        row
        for batches in partitions
        for part in ingest_batches(iter(batches), target=target)
        for row in part.to_pylist()
    ]
    assert sum(row["count"] for row in outcomes if row["outcome"] == "recorded") == 5
    assert calls["read_operations"] == 1
