"""One valid document of each format, as bytes."""

from __future__ import annotations

import json
from typing import Any

_PRODUCER = "https://example.com/producer"
START_MS = 1_600_000_000_000


def run(run_id: str) -> dict[str, Any]:
    """A run with an id."""
    return {
        "application": "shop",
        "type": "batch",
        "program": "nightly",
        "run": run_id,
        "startTime": START_MS,
    }


def lineage(run_id: str = "r1", *, field: str = "x") -> dict[str, Any]:
    """A run that copies one field of `orders` to `bills`."""
    return {
        "run": run(run_id),
        "operations": [
            {"type": "READ", "name": "read", "source": {"name": "orders"}, "outputs": [field]},
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"name": "bills"},
                "inputs": [{"origin": "read", "name": field}],
            },
        ],
    }


def event(run_id: str = "r2") -> dict[str, Any]:
    """The end of a run as an OpenLineage event."""
    return {
        "eventTime": "2026-01-31T09:30:00Z",
        "eventType": "COMPLETE",
        "producer": _PRODUCER,
        "run": {"runId": run_id},
        "job": {"namespace": "shop", "name": "nightly"},
        "inputs": [{"namespace": "shop", "name": "orders"}],
        "outputs": [{"namespace": "shop", "name": "bills"}],
    }


def dataset_event() -> dict[str, Any]:
    """An OpenLineage event without a run: the fields of a dataset."""
    fields = [{"name": "x", "type": "int"}]
    facet = {
        "_producer": "https://example.com/producer",
        "_schemaURL": "https://example.com/s",
        "fields": fields,
    }
    return {
        "eventTime": "2026-01-31T09:30:00Z",
        "producer": _PRODUCER,
        "dataset": {"namespace": "shop", "name": "orders", "facets": {"schema": facet}},
    }


def proposal() -> dict[str, Any]:
    """A DataHub proposal with the upstream of a dataset."""
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
    upstreams = [{"dataset": urn.format("orders"), "type": "COPY", "auditStamp": {"time": START_MS}}]
    return {
        "entityType": "dataset",
        "entityUrn": urn.format("bills"),
        "changeType": "UPSERT",
        "aspectName": "upstreamLineage",
        "aspect": {"json": {"upstreams": upstreams}},
    }


def dbt() -> dict[str, Any]:
    """A dbt project of two models, one of which reads the other."""
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "generated_at": "2026-01-31T09:30:00Z",
        "invocation_id": "i1",
        "adapter_type": "postgres",
        "project_name": "shop",
        "dbt_version": "1.11.0",
    }
    nodes = dict([_model("orders", "select 1 as x", []), _model("bills", _BILLS, ["model.shop.orders"])])
    return {
        "manifest": {"metadata": metadata, "nodes": nodes, "sources": {}},
        "datasetNamespace": "postgres://h:1",
    }


_BILLS = 'select x from "db"."public"."orders"'


def _model(name: str, code: str, upstream: list[str]) -> tuple[str, dict[str, Any]]:
    return f"model.shop.{name}", {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "package_name": "shop",
        "name": name,
        "alias": name,
        "database": "db",
        "schema": "public",
        "relation_name": f'"db"."public"."{name}"',
        "depends_on": {"nodes": upstream},
        "config": {"materialized": "table"},
        "columns": {},
        "compiled": True,
        "compiled_code": code,
    }


_SCHEMA = json.dumps({"type": "record", "name": "orders", "fields": [{"name": "x", "type": "int"}]})

DOCUMENTS: dict[str, dict[str, Any]] = {
    "lineage": lineage(),
    "openlineage": event(),
    "sql": {"run": run("r3"), "sql": "INSERT INTO bills SELECT o.x FROM orders o"},
    "pipelines": {
        "run": run("r4"),
        "config": {
            "stages": [
                {"name": "orders", "plugin": {"type": "batchsource"}, "outputSchema": _SCHEMA},
                {"name": "bills", "plugin": {"type": "batchsink"}},
            ],
            "connections": [{"from": "orders", "to": "bills"}],
        },
    },
    "datahub": proposal(),
    "dbt": dbt(),
    "databricks": {
        "databricks": [
            {
                "statement_id": "r5",
                "event_time": "2026-01-31T09:30:00Z",
                "source_table_full_name": "main.shop.orders",
                "source_column_name": "x",
                "target_table_full_name": "main.shop.bills",
                "target_column_name": "x",
            }
        ]
    },
    "snowflake": {
        "snowflake": [
            {
                "QUERY_ID": "r6",
                "QUERY_START_TIME": "2026-01-31 09:30:00.000 +0000",
                "DIRECT_OBJECTS_ACCESSED": [
                    {
                        "objectDomain": "Table",
                        "objectName": "SHOP.RAW.ORDERS",
                        "columns": [{"columnName": "X"}],
                    }
                ],
                "OBJECTS_MODIFIED": [
                    {"objectDomain": "Table", "objectName": "SHOP.RAW.BILLS", "columns": []}
                ],
            }
        ]
    },
    "trino": {
        "trino": [
            {
                "metadata": {"queryId": "r7", "queryState": "FINISHED"},
                "createTime": "2026-01-31T09:30:00Z",
                "ioMetadata": {
                    "inputs": [
                        {"catalogName": "lake", "schema": "shop", "table": "orders", "columns": ["x"]}
                    ],
                    "output": {"catalogName": "lake", "schema": "shop", "table": "bills"},
                },
            }
        ]
    },
    "bigquery": {
        "bigquery": [
            {
                "job_id": "r8",
                "creation_time": "2026-01-31 09:30:00 UTC",
                "query": "INSERT INTO shop.bills (x) SELECT x FROM shop.orders",
                "referenced_tables": [{"project_id": "p", "dataset_id": "shop", "table_id": "orders"}],
                "destination_table": {"project_id": "p", "dataset_id": "shop", "table_id": "bills"},
            }
        ]
    },
}
"""By the name of the format."""


def encode(document: object) -> bytes:
    """A document as JSON."""
    return json.dumps(document).encode()
