"""Runner of the golden cases of DataHub messages."""

from __future__ import annotations

import json
from typing import Any

from fll_hbase import rest_json
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.runs import RecordedRun
from fll_hbase.sources import datahub
from fll_hbase.sources.datahub import MessageFormat


def reported(case: dict[str, Any]) -> dict[str, Any]:
    """All that a message comes to, as JSON."""
    ingested = datahub.read(case["document"], form=MessageFormat(case["form"]), now_ms=case["nowMs"])
    return {
        "runs": [_run(run) for run in ingested.runs],
        "schemas": [_schema(schema) for schema in ingested.schemas],
        "counted": sorted([item.outcome.value, item.aspect, n] for item, n in ingested.counted.items()),
    }


def _run(recorded: RecordedRun) -> dict[str, Any]:
    run, dry = recorded.run, rest_json.dry_run(recorded.info)
    return {
        "run": run.run,
        "namespace": run.namespace,
        "application": run.application,
        "type": run.type,
        "program": run.program,
        "startTime": run.start_ms,
        "details": json.loads(run.details),
        "checksum": dry["checksum"],
        "operations": dry["operations"],
        "lineage": dry["lineage"],
    }


def _schema(schema: DatasetMetadata) -> dict[str, Any]:
    fields = {field.name: field.type for field in schema.fields}
    return {"endPoint": str(schema.dataset), "fields": fields, "description": schema.description}
