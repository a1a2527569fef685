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
from fll_hbase.spark.lines import worker_ingest
from fll_hbase.spark.lines.line_frames import TIME_MS, VALUE
from fll_hbase.spark.lines.worker_ingest import EQUAL_FAULTS, REJECTED, Target, counted_faults, ingest_batches
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


def rejected(position: int, fault: str) -> dict[str, Any]:
    origin = {"file": "f", "block": 0, "position": position}
    return {"outcome": REJECTED, "count": 1, "value": b"x", **origin, "faults": [fault]}


def counted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of outcomes after many equal faults are counted, in batches of 300."""
    parts = [rows[first : first + 300] for first in range(0, len(rows), 300)]
    batches = (pa.RecordBatch.from_pylist(part, schema=worker_ingest._FIELDS) for part in parts)
    return [row for batch in counted_faults(batches) for row in batch.to_pylist()]


def test_lines_with_equal_faults_beyond_a_thousand_are_one_row() -> None:
    rows = [rejected(number, "missing") for number in range(5_000)]
    rows.insert(2_000, rejected(9_000, "other"))
    rows.append({**dict.fromkeys(rows[0]), "outcome": "recorded", "count": 7})
    *written, last = counted(rows)
    assert [row["position"] for row in written] == [*range(EQUAL_FAULTS), 9_000, None]
    assert last == {**rejected(EQUAL_FAULTS, "missing"), "count": 4_000, "value": None}


def test_one_line_beyond_a_thousand_stays_as_it_is() -> None:
    rows = [rejected(number, "missing") for number in range(EQUAL_FAULTS + 1)]
    assert counted(rows) == rows


def test_different_faults_are_separate_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_ingest, "FAULTS_MAX", 1)
    rows = [rejected(number, fault) for number in range(1_500) for fault in ("a", "b")]
    assert Counter(row["faults"][0] for row in counted(rows)) == {"a": EQUAL_FAULTS + 1, "b": 1_500}
