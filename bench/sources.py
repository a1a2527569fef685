"""Documents of each source, read in process: bytes to runs, nothing stored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.report import said
from fll_hbase.sources import datahub as datahub_source
from fll_hbase.sources import strict_json

SECONDS = 2.0


def bench(sizes: Sequence[int]) -> None:
    """Each source by itself; `sizes` are those of histories, of which there is none here."""
    datahub()


def datahub() -> None:
    """Proposals of a table with a few columns, and of one with a thousand."""
    for columns in (20, 1_000):
        raw = json.dumps([_lineage(columns)]).encode()
        _measured(f"DataHub: a table of {columns:,} columns", raw, _read_datahub)


def _read_datahub(raw: bytes) -> None:
    datahub_source.read(strict_json.parse(raw), form=datahub_source.Form.ENTITIES, now_ms=1)


def _lineage(columns: int) -> dict[str, Any]:
    """A table whose every column is made of two of another."""
    source, target = (f"urn:li:dataset:(urn:li:dataPlatform:hive,sales.{name},PROD)" for name in ("a", "b"))
    entries = [
        {
            "upstreams": [f"urn:li:schemaField:({source},{name}{number})" for name in ("x", "y")],
            "downstreams": [f"urn:li:schemaField:({target},z{number})"],
            "transformOperation": f"x{number} + y{number}",
        }
        for number in range(columns)
    ]
    value = {"upstreams": [{"dataset": source, "type": "TRANSFORMED"}], "fineGrainedLineages": entries}
    return {"urn": target, "upstreamLineage": {"value": value, "systemMetadata": {"lastObserved": 1}}}


def _measured(what: str, raw: bytes, read: Callable[[bytes], None]) -> None:
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        read(raw)
        count += 1
    took = time.perf_counter() - began
    said(f"{what}, {len(raw):,} bytes", count / took, "/s")
    said("which is", count * len(raw) / took / 2**20, "MiB/s")
