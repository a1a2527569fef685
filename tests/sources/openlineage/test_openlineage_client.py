"""OpenLineage's own Python client, installed and unmodified, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests
from openlineage.client import OpenLineageClient
from openlineage.client import event_v2 as ol
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    documentation_dataset,
    error_message_run,
    job_type_job,
    lifecycle_state_change_dataset,
    lineage,
    nominal_time_run,
    parent_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)
from openlineage.client.serde import Serde

from tests.support.commands import serving

TRANSPORTS: dict[str, dict[str, Any]] = {
    "http": {"type": "http"},
    "gzip": {"type": "http", "compression": "gzip"},
    "async": {"type": "async_http"},
    "async-gzip": {"type": "async_http", "compression": "gzip"},
    "composite": {"type": "composite", "transports": [{"type": "http"}, {"type": "async_http"}]},
}

PRODUCER = "https://example.com/agent"
Field, Transformation = column_lineage_dataset.InputField, column_lineage_dataset.Transformation
ORDERS = ol.InputDataset(
    "pg://shop",
    "public.orders",
    facets={
        "schema": schema_dataset.SchemaDatasetFacet(
            [schema_dataset.SchemaDatasetFacetFields("price", "numeric")]
        )
    },
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home: Path = tmp_path_factory.mktemp("served")
    with serving(f"sqlite:///{home}/store.db", home) as url:
        yield url


@pytest.fixture(params=TRANSPORTS)
def client(url: str, request: pytest.FixtureRequest) -> Iterator[OpenLineageClient]:
    config = {**TRANSPORTS[request.param]}
    for item in (config, *config.get("transports", ())):
        item["url"] = url
    client = OpenLineageClient(config={"transport": config})
    yield client
    client.close()


@pytest.fixture
def job() -> ol.Job:
    """A job whose names no other test has."""
    return ol.Job("shop", f"nightly_{uuid4().hex}")


def path(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(minutes=5) + timedelta(seconds=seconds)).isoformat()


def output(name: str) -> ol.OutputDataset:
    """An output made of ORDERS, as the client's own classes tell it."""
    created = column_lineage_dataset.Fields(
        [
            Field(
                "pg://shop",
                "public.orders",
                "price",
                [Transformation("DIRECT", "AGGREGATION", "sum(price)", False)],
            ),
            Field("pg://shop", "public.orders", "vip", [Transformation("INDIRECT", "CONDITIONAL")]),
        ]
    )
    complete = [Field("pg://shop", "public.orders", "status", [Transformation("INDIRECT", "FILTER")])]
    return ol.OutputDataset(
        "s3://lake",
        name,
        facets={
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet({"total": created}, complete),
            "schema": schema_dataset.SchemaDatasetFacet(
                [schema_dataset.SchemaDatasetFacetFields("total", "decimal")]
            ),
            "symlinks": symlinks_dataset.SymlinksDatasetFacet(
                [symlinks_dataset.Identifier("hive", name, "TABLE")]
            ),
            "documentation": documentation_dataset.DocumentationDatasetFacet("Sums of orders"),
        },
    )


def emit(client: OpenLineageClient, *events: Any) -> None:
    for event in events:
        client.emit(event)
    assert client.close(timeout=120)


def requested(url: str, *segments: str, **query: str) -> Any:
    path = "/".join(requests.utils.quote(segment, safe="") for segment in segments)
    answer = requests.get(f"{url}/v3/{path}", query, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def backward(url: str, namespace: str, name: str, **query: str) -> Any:
    path = ("namespaces", namespace, "endpoints", name, "fields", "lineage")
    return requested(url, *path, direction="backward", **query)


def fieldmap(url: str, name: str) -> Any:
    (entry,) = backward(url, "s3://lake", name)
    assert entry["source"] == {"namespace": "pg://shop", "name": "public.orders"}
    return entry["fieldmap"]


SUMS = [
    {"from": "price", "to": "total"},
    {"from": "status", "to": "*", "influence": "indirect", "scope": "dataset"},
    {"from": "vip", "to": "total", "influence": "indirect"},
]


def test_a_run_reported_in_events(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    parent = parent_run.ParentRunFacet(
        parent_run.Run(str(uuid4())),
        parent_run.Job("airflow", "shop.load"),
        parent_run.Root(parent_run.RootRun(str(uuid4())), parent_run.RootJob("airflow", "shop")),
    )
    nominal = nominal_time_run.NominalTimeRunFacet("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
    run = ol.Run(str(uuid4()), {"parent": parent, "nominalTime": nominal})
    message = ol.Job(
        job.namespace,
        job.name,
        {
            "sql": sql_job.SQLJobFacet("INSERT INTO sums SELECT sum(price) FROM orders"),
            "jobType": job_type_job.JobTypeJobFacet("BATCH", "DBT", "MODEL"),
        },
    )
    emit(
        client,
        ol.RunEvent(
            eventTime=path(0),
            producer=PRODUCER,
            run=run,
            job=message,
            eventType=ol.RunState.START,
            inputs=[ORDERS],
        ),
        ol.RunEvent(
            eventTime=path(1),
            producer=PRODUCER,
            run=run,
            job=message,
            eventType=ol.RunState.RUNNING,
            outputs=[output(job.name)],
        ),
        ol.RunEvent(
            eventTime=path(2), producer=PRODUCER, run=run, job=message, eventType=ol.RunState.COMPLETE
        ),
    )
    assert fieldmap(url, job.name) == SUMS
    assert backward(url, "hive", job.name)[0]["fieldmap"] == SUMS
    result = requested(url, "runs", run.runId)
    assert {name: result[name] for name in ("program", "application", "type", "state", "sql", "parent")} == {
        "program": job.name,
        "application": "shop.load",
        "type": "DBT",
        "state": "COMPLETE",
        "sql": "INSERT INTO sums SELECT sum(price) FROM orders",
        "parent": parent.run.runId,
    }
    assert (result["root"]["name"], result["nominalStartTime"]) == ("shop", "2026-03-01T00:00:00Z")
    assert [event["eventType"] for event in result["events"]] == ["START", "RUNNING", "COMPLETE"]
    (field,) = requested(url, "namespaces", "s3://lake", "endpoints", job.name, "fields")["fields"]
    assert (field["name"], field["type"]) == ("total", "decimal")


def test_a_run_that_fails(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    run = ol.Run(str(uuid4()))
    error = error_message_run.ErrorMessageRunFacet("disk full", "PYTHON", "Traceback …")
    failed = ol.Run(run.runId, {"errorMessage": error})
    emit(
        client,
        ol.RunEvent(
            eventTime=path(0),
            producer=PRODUCER,
            run=run,
            job=job,
            eventType=ol.RunState.START,
            outputs=[output(job.name)],
        ),
        ol.RunEvent(eventTime=path(1), producer=PRODUCER, run=failed, job=job, eventType=ol.RunState.FAIL),
        ol.RunEvent(
            eventTime=path(1.009), producer=PRODUCER, run=run, job=job, eventType=ol.RunState.COMPLETE
        ),
    )
    result = requested(url, "runs", run.runId)
    assert (result["state"], result["errorMessage"]) == ("FAIL", "disk full")
    assert backward(url, "s3://lake", job.name) == []
    assert backward(url, "s3://lake", job.name, failed="true")[0]["fieldmap"] == [
        {**pair, "failed": True} for pair in SUMS
    ]


def test_a_job_event(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    emit(
        client,
        ol.JobEvent(
            eventTime=path(0), producer=PRODUCER, job=job, inputs=[ORDERS], outputs=[output(job.name)]
        ),
    )
    assert fieldmap(url, job.name) == SUMS


def test_lineage_declared_for_a_job(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    price = lineage.LineageDatasetInput("pg://shop", "public.orders", "DATASET", "price")
    status = lineage.LineageDatasetInput(
        "pg://shop",
        "public.orders",
        "DATASET",
        "status",
        [lineage.LineageTransformation("INDIRECT", "FILTER")],
    )
    entry = lineage.LineageDatasetEntry(
        "s3://lake", job.name, "DATASET", [status], {"total": lineage.LineageFieldEntry([price])}
    )
    declared = ol.Job(job.namespace, job.name, {"lineage": lineage.LineageJobFacet([entry])})
    emit(client, ol.JobEvent(eventTime=path(0), producer=PRODUCER, job=declared))
    assert fieldmap(url, job.name) == SUMS[:2]


def test_lineage_declared_for_a_dataset(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    orders = lineage.LineageDatasetInput("pg://shop", "public.orders", "DATASET")
    facet = lineage.LineageDatasetFacet([orders])
    emit(
        client,
        ol.DatasetEvent(
            eventTime=path(0),
            producer=PRODUCER,
            dataset=ol.StaticDataset("s3://lake", job.name, facets={"lineage": facet}),
        ),
    )
    (entry,) = backward(url, "s3://lake", job.name)
    assert (entry["source"]["name"], entry["fieldmap"], entry["unknown"]) == ("public.orders", [], True)


def test_a_dataset_event(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    facets = {
        name: facet for name, facet in (output(job.name).facets or {}).items() if name != "columnLineage"
    }
    emit(
        client,
        ol.DatasetEvent(
            eventTime=path(0),
            producer=PRODUCER,
            dataset=ol.StaticDataset("s3://lake", job.name, facets=facets),
        ),
    )
    assert backward(url, "s3://lake", job.name) == []
    (field,) = requested(url, "namespaces", "s3://lake", "endpoints", job.name, "fields")["fields"]
    assert field == {"name": "total", "type": "decimal", "read": False, "written": False}
    existing = requested(url, "namespaces", "s3://lake", "endpoints", prefix=job.name)["endpoints"]
    assert [end_point["description"] for end_point in existing] == ["Sums of orders"]


def test_a_table_that_was_renamed(url: str, client: OpenLineageClient, job: ol.Job) -> None:
    change = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
        lifecycle_state_change_dataset.LifecycleStateChange.RENAME,
        lifecycle_state_change_dataset.PreviousIdentifier("public.orders", "pg://shop"),
    )
    facets = {**(output(job.name).facets or {}), "lifecycleStateChange": change}
    del facets["columnLineage"]
    renamed = ol.OutputDataset("s3://lake", job.name, facets=facets)
    run = ol.Run(str(uuid4()))
    emit(
        client,
        ol.RunEvent(
            eventTime=path(0),
            producer=PRODUCER,
            run=run,
            job=job,
            eventType=ol.RunState.COMPLETE,
            outputs=[renamed],
        ),
    )
    assert fieldmap(url, job.name) == [{"from": "total", "to": "total"}]


def test_a_client_that_was_reported_where_by_its_environment(
    url: str, job: ol.Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    run = ol.Run(str(uuid4()))
    emit(
        OpenLineageClient(),
        ol.RunEvent(
            eventTime=path(0),
            producer=PRODUCER,
            run=run,
            job=job,
            eventType=ol.RunState.COMPLETE,
            outputs=[output(job.name)],
        ),
    )
    assert fieldmap(url, job.name) == SUMS


def test_an_event_sent_again_is_known(url: str, job: ol.Job) -> None:
    event = ol.RunEvent(
        eventTime=path(0),
        producer=PRODUCER,
        run=ol.Run(str(uuid4())),
        job=job,
        eventType=ol.RunState.COMPLETE,
        outputs=[output(job.name)],
    )
    client = OpenLineageClient(config={"transport": {"type": "http", "url": url}})
    for _ in range(2):
        client.emit(event)
    again = requests.post(
        f"{url}/api/v1/lineage",
        data=Serde.to_json(event),
        timeout=120,
        headers={"Content-Type": "application/json"},
    )
    assert (again.status_code, again.json()["recorded"]) == (201, False)
    result = requested(url, "namespaces", "s3://lake", "endpoints", job.name, "runs")["runs"]
    assert [run["run"] for run in result] == [event.run.runId]


@pytest.mark.slow
def test_many_events_at_once(url: str, job: ol.Job) -> None:
    """Everything that a client sends asynchronously arrives."""
    client = OpenLineageClient(
        config={"transport": {"type": "async_http", "url": url, "max_concurrent_requests": 8}}
    )
    runs = [ol.Run(str(uuid4())) for _ in range(60)]
    events = [
        ol.RunEvent(
            eventTime=path(number),
            producer=PRODUCER,
            run=run,
            job=job,
            eventType=kind,
            inputs=[ORDERS],
            outputs=[output(job.name)],
        )
        for number, run in enumerate(runs)
        for kind in (ol.RunState.START, ol.RunState.COMPLETE)
    ]
    emit(client, *events)
    result = requested(url, "namespaces", "s3://lake", "endpoints", job.name, "runs")["runs"]
    assert {run["run"] for run in result} == {run.runId for run in runs}
    assert {run["state"] for run in result} == {"COMPLETE"}


@pytest.mark.slow
def test_a_client_sent_to_the_wrong_place_is_reported_where_to_go(url: str, job: ol.Job) -> None:
    client = OpenLineageClient(config={"transport": {"type": "http", "url": url, "endpoint": "/"}})
    with pytest.raises(requests.HTTPError) as error:
        client.emit(ol.JobEvent(eventTime=path(0), producer=PRODUCER, job=job))
    assert error.value.response.status_code == 404
    assert "api/v1/lineage" in error.value.response.json()["detail"]
