"""Examples of parameters and bodies for the OpenAPI document: names in the sample, and documents to record.

A test sends all of them to an app that has the sample, to the routes that record before the routes that
query.
"""

from __future__ import annotations

import json
from typing import Any

from fll_hbase.runtime.json_types import Json

START_MS = 1_793_491_200_000
"""2026-11-01, when the recorded examples start."""

RUN = "example-1"
_PARAMETERS: dict[str, Any] = {
    "namespace": "myns",
    "name": "mytableds",
    "field": "id",
    "run": RUN,
    "checksum": "ac99fa954708d93940134466b7d6e910",
    "entity": "dataset",
    "urn": "urn:li:dataset:(urn:li:dataPlatform:hive,shop.daily,PROD)",
    "aspect": "datasetKey",
    "action": "ingestProposal",
    "q": "uid",
    "endpoint": "mytableds",
    "tag": "PII",
    "policy": "ninety-days",
    "start": "now-7d",
    "end": "now",
}
_ORDERS_TABLE = {"objectDomain": "Table", "objectName": "SHOP.RAW.ORDERS"}
_ROWS: dict[str, Json] = {
    "databricks": {
        "statement_id": "example-7",
        "event_time": "2026-11-01T02:00:05Z",
        "source_table_full_name": "main.raw.orders",
        "source_column_name": "amount",
        "target_table_full_name": "main.gold.totals",
        "target_column_name": "total",
    },
    "snowflake": {
        "query_id": "example-8",
        "query_start_time": "2026-11-01T02:00:05Z",
        "base_objects_accessed": [{**_ORDERS_TABLE, "columns": [{"columnName": "AMOUNT"}]}],
        "objects_modified": [
            {
                "objectDomain": "Table",
                "objectName": "SHOP.GOLD.TOTALS",
                "columns": [
                    {"columnName": "TOTAL", "directSources": [{**_ORDERS_TABLE, "columnName": "AMOUNT"}]}
                ],
            }
        ],
    },
    "trino": {
        "metadata": {
            "queryId": "example-9",
            "queryState": "FINISHED",
            "query": "INSERT INTO totals SELECT 1",
        },
        "context": {"user": "ann", "queryType": "INSERT"},
        "ioMetadata": {
            "inputs": [],
            "output": {
                "catalogName": "lake",
                "schema": "shop",
                "table": "totals",
                "columns": [{"columnName": "total", "columnType": "bigint", "sourceColumns": []}],
            },
        },
        "createTime": "2026-11-01T02:00:05Z",
    },
    "bigquery": {
        "job_id": "example-10",
        "creation_time": "2026-11-01T02:00:05Z",
        "state": "DONE",
        "statement_type": "INSERT",
        "query": "INSERT INTO shop.totals (total) SELECT amount FROM shop.orders",
        "referenced_tables": [{"project_id": "p", "dataset_id": "shop", "table_id": "orders"}],
        "destination_table": {"project_id": "p", "dataset_id": "shop", "table_id": "totals"},
    },
}
"""A row of each warehouse."""

_ROUTE_VALUES: dict[str, dict[str, Any]] = {
    **{
        f"delete /v3/{route}": {"before": "2026-01-01", "dryRun": "true"}
        for route in ("lineage", "namespaces/{namespace}/endpoints/{name}")
    },
    "post /entities": {"action": "ingest"},
    "get /v3/namespaces/{namespace}/runs/{run}": {"namespace": "shop"},
    **{
        route: {"namespace": "*"}
        for route in (
            "get /v3/policies/{policy}",
            "delete /v3/policies/{policy}",
            "get /v3/reports/retention",
        )
    },
    "get /v3/reports/flows": {"policy": "no-ads"},
    **{
        f"post /v3/namespaces/{{namespace}}/{route}": {"namespace": "shop"}
        for route in ("lineage", "lineage/batch", "sql", "pipelines", "dbt", *_ROWS)
    },
}
"""Values for single routes that differ from the general ones."""


def _run(program: str, run: str) -> Json:
    """Return the `run` of an example document, with this program and run id."""
    return {"application": "shop", "type": "spark", "program": program, "run": run, "startTime": START_MS}


def _document(run: str) -> Json:
    """Return an example of a native document with this run id."""
    return {
        "run": _run("nightly", run),
        "operations": [
            {
                "type": "READ",
                "name": "read",
                "source": {"name": "orders"},
                "outputs": ["id", "price", "rate"],
            },
            {
                "type": "TRANSFORM",
                "name": "convert",
                "description": "price times rate",
                "inputs": [{"origin": "read", "name": "price"}, {"origin": "read", "name": "rate"}],
                "outputs": [{"name": "total", "type": "decimal"}],
            },
            {
                "type": "WRITE",
                "name": "store",
                "destination": {"name": "daily"},
                "inputs": [{"origin": "read", "name": "id"}, {"origin": "convert", "name": "total"}],
            },
        ],
    }


_ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
_DAILY = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.daily,PROD)"
_STAMP = {"time": START_MS, "actor": "urn:li:corpuser:etl"}
_UPSTREAM = {"auditStamp": _STAMP, "dataset": _ORDERS, "type": "TRANSFORMED"}
_UPSTREAM_LINEAGE = {
    "upstreams": [_UPSTREAM],
    "fineGrainedLineages": [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [f"urn:li:schemaField:({_ORDERS},price)"],
            "downstreamType": "FIELD",
            "downstreams": [f"urn:li:schemaField:({_DAILY},total)"],
        }
    ],
}
_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "orders",
        "fields": [{"name": "id", "type": "int"}, {"name": "mail", "type": "string"}],
    }
)
_EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-01T00:00:00Z",
    "producer": "https://example.com/agent",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0195b4ae-6a1e-7000-8000-000000000001"},
    "job": {"namespace": "shop", "name": "daily"},
    "inputs": [{"namespace": "shop", "name": "orders"}],
    "outputs": [
        {
            "namespace": "shop",
            "name": "daily",
            "facets": {
                "columnLineage": {
                    "_producer": "https://example.com/agent",
                    "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json",
                    "fields": {
                        "total": {"inputFields": [{"namespace": "shop", "name": "orders", "field": "price"}]}
                    },
                }
            },
        }
    ],
}
_NODE = {"database": "db", "schema": "shop", "package_name": "shop"}
_MANIFEST = {
    "metadata": {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "dbt_version": "1.9.0",
        "project_name": "shop",
        "adapter_type": "postgres",
        "invocation_id": "example-3",
        "generated_at": "2026-11-01T00:00:00Z",
    },
    "nodes": {
        "model.shop.daily": {
            **_NODE,
            "resource_type": "model",
            "name": "daily",
            "alias": "daily",
            "language": "sql",
            "relation_name": '"db"."shop"."daily"',
            "config": {"materialized": "table"},
            "compiled_code": "select id, price * rate as total from db.shop.orders",
            "depends_on": {"nodes": ["source.shop.raw.orders"]},
        }
    },
    "sources": {
        "source.shop.raw.orders": {
            **_NODE,
            "resource_type": "source",
            "name": "orders",
            "identifier": "orders",
            "relation_name": '"db"."shop"."orders"',
            "columns": {name: {"name": name} for name in ("id", "price", "rate")},
        }
    },
}
_STAGES = [
    {"name": "orders", "plugin": {"name": "File", "type": "batchsource", "properties": {"schema": _SCHEMA}}},
    {
        "name": "mask",
        "plugin": {"type": "transform"},
        "fieldMutations": [{"mutation": "mask", "inputFields": ["mail"], "outputField": "mail"}],
    },
    {"name": "masked", "plugin": {"name": "Table", "type": "batchsink", "properties": {}}},
]
_LINEAGE = "/v3/namespaces/{namespace}"

BODIES: dict[str, Any] = {
    f"post {_LINEAGE}/lineage": _document(RUN),
    f"post {_LINEAGE}/lineage/batch": "".join(
        json.dumps(_document(run)) + "\n" for run in ("example-4", "example-5")
    ),
    f"post {_LINEAGE}/sql": {
        "run": _run("summary", "example-2"),
        "sql": "INSERT INTO daily SELECT id, price * rate AS total FROM orders",
        "schema": {"orders": ["id", "price", "rate"], "daily": ["id", "total"]},
    },
    f"post {_LINEAGE}/pipelines": {
        "run": _run("masking", "example-6"),
        "config": {
            "stages": _STAGES,
            "connections": [{"from": "orders", "to": "mask"}, {"from": "mask", "to": "masked"}],
        },
    },
    f"post {_LINEAGE}/dbt": {"manifest": _MANIFEST},
    **{f"post {_LINEAGE}/{name}": {name: [row]} for name, row in _ROWS.items()},
    "post /api/v1/lineage": _EVENT,
    "post /api/v1/lineage/batch": [_EVENT],
    "post /aspects": {
        "proposal": {
            "entityType": "dataset",
            "entityUrn": _DAILY,
            "changeType": "UPSERT",
            "aspectName": "upstreamLineage",
            "aspect": {"value": json.dumps(_UPSTREAM_LINEAGE), "contentType": "application/json"},
        }
    },
    "post /entities": {
        "entity": {
            "value": {
                "com.linkedin.metadata.snapshot.DatasetSnapshot": {
                    "urn": _DAILY,
                    "aspects": [{"com.linkedin.dataset.UpstreamLineage": _UPSTREAM_LINEAGE}],
                }
            }
        }
    },
    "post /openapi/v3/entity/{entity}": [{"urn": _DAILY, "upstreamLineage": {"value": _UPSTREAM_LINEAGE}}],
    "patch /openapi/v3/entity/{entity}": [
        {
            "urn": _DAILY,
            "upstreamLineage": {
                "value": {"patch": [{"op": "add", "path": f"/upstreams/{_ORDERS}", "value": _UPSTREAM}]}
            },
        }
    ],
    "post /v3/impact": {
        "fields": [
            {"namespace": "myns", "name": "mytableds", "field": "id", "change": "rename", "to": "customer_id"}
        ]
    },
    "post /v3/questions": {
        "questions": [
            {"path": "/v3/namespaces/myns/endpoints/mytableds/fields/lineage?start=now-7d"},
            {"path": "/v3/namespaces/myns/endpoints/mytableds/fields/id/lineage?view=simple", "id": "id"},
        ]
    },
}
"""Bodies by method and path."""


def parameter_example(route: str, name: str) -> Any:
    """Return the example of a parameter of a route such as `get /v3/search`, or None if it has none."""
    return _ROUTE_VALUES.get(route, {}).get(name, _PARAMETERS.get(name))
