"""Parsing rates of each source in process: bytes to runs, nothing stored."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from bench.openlineage import EVENTS
from bench.report import print_figure
from fll_hbase.sources import cdap, strict_json
from fll_hbase.sources import datahub as datahub_source
from fll_hbase.sources import openlineage as openlineage_source
from fll_hbase.sources import sql as sql_source

SECONDS = 2.0


def bench(sizes: Sequence[int]) -> None:
    """Measure each source; `sizes` has no effect, since nothing is stored."""
    openlineage()
    datahub()
    pipelines()
    sql()


def openlineage() -> None:
    """Events of a real agent: of a daily job, and of 120 columns."""
    with gzip.open(EVENTS) as lines:
        events = [line for line in lines if b'"COMPLETE"' in line]
    for label, job in (
        ("a daily job", b"retail_daily_enrich_orders.adaptive"),
        ("120 columns", b"feat_wide_out"),
    ):
        _measure(f"OpenLineage: {label}", next(line for line in events if job in line), _read_event)


def _read_event(raw: bytes) -> None:
    openlineage_source.read(openlineage_source.parse(raw))


def datahub() -> None:
    """Proposals of a table with a few columns, and of one with a thousand."""
    for columns in (20, 1_000):
        raw = json.dumps([_lineage(columns)]).encode()
        _measure(f"DataHub: a table of {columns:,} columns", raw, _read_datahub)


def pipelines() -> None:
    """A pipeline of five stages and ten fields, and one of 500 stages that rewrite 20 of 200 fields each."""
    for stages, fields, outputs in ((5, 10, 3), (500, 200, 20)):
        raw = json.dumps(_pipeline(stages, fields, outputs)).encode()
        _measure(f"pipeline configs: {stages} stages, {fields} fields", raw, _read_pipeline)


def _read_pipeline(raw: bytes) -> None:
    cdap.read_document(strict_json.parse(raw), namespace="ns")


def _pipeline(stage_count: int, fields: int, outputs: int) -> dict[str, Any]:
    """A source, transforms that each rewrite the first `outputs` fields, and a sink."""
    names = [f"field_{number}" for number in range(fields)]
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": "string"} for name in names]}
    properties = {"schema": json.dumps(schema)}
    stages: list[dict[str, Any]] = [
        {"name": "source", "plugin": {"type": "batchsource", "properties": properties}}
    ]
    stages += [
        {
            "name": f"stage_{number}",
            "plugin": {"type": "transform", "properties": properties},
            "operations": [
                {"name": f"make {name}", "inputs": [name, names[0]], "outputs": [name]}
                for name in names[:outputs]
            ],
        }
        for number in range(stage_count - 2)
    ]
    stages.append({"name": "sink", "plugin": {"type": "batchsink", "properties": properties}})
    arrows = [{"from": source["name"], "to": target["name"]} for source, target in pairwise(stages)]
    run = {"application": "a", "type": "pipeline", "program": "p", "run": "r", "startTime": 1}
    return {"run": run, "config": {"stages": stages, "connections": arrows}}


def _read_datahub(raw: bytes) -> None:
    datahub_source.read(strict_json.parse(raw), form=datahub_source.MessageFormat.ENTITIES, now_ms=1)


def _lineage(columns: int) -> dict[str, Any]:
    """A table with two source columns for each column."""
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


def sql() -> None:
    """A nightly statement, a script of ten, and one statement of a thousand columns."""
    columns = ", ".join(
        f"COALESCE(a.x{number}, b.y{number} * {number}) AS z{number}" for number in range(1_000)
    )
    scripts = {
        "a daily statement": _DAILY,
        "a script of ten": ";".join(_DAILY.replace("totals", f"totals{number}") for number in range(10)),
        "1,000 columns": f"CREATE TABLE wide AS SELECT {columns} FROM a JOIN b ON a.id = b.id",
    }
    for label, script in scripts.items():
        run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 1}
        _measure(f"SQL: {label}", json.dumps({"run": run, "sql": script}).encode(), _read_sql)


_DAILY = """CREATE TABLE totals AS
WITH paid AS (SELECT o.customer, o.amount - o.discount AS net FROM orders o WHERE o.day = '2026-11-21')
SELECT c.region, SUM(p.net) AS total, COUNT(*) AS n, MAX(CASE WHEN p.net > 100 THEN p.net ELSE 0 END) AS big
FROM paid p JOIN customers c ON p.customer = c.id GROUP BY c.region"""


def _read_sql(raw: bytes) -> None:
    sql_source.read_document(strict_json.parse(raw), namespace="bench", columns=lambda _: None)


def _measure(label: str, raw: bytes, read: Callable[[bytes], None]) -> None:
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        read(raw)
        count += 1
    elapsed = time.perf_counter() - started
    print_figure(f"{label}, {len(raw):,} bytes", count / elapsed, "/s")
    print_figure("the same in bytes", count * len(raw) / elapsed / 2**20, "MiB/s")
