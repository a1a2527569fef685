"""A table has the names of OpenLineage and DataHub, whatever source reports it."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.ingest.registry import parse_event
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.run_events import IncomingEvent, decode_lineage
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import sql
from fll_hbase.sources.datahub import urns
from fll_hbase.sources.name_rules import NameRules
from tests.support import format_documents, golden_rows

WRITTEN: dict[str, dict[str, Any]] = {
    "databricks": {
        "statement_id": "s",
        "event_time": 1_772_330_400,
        "target_table_full_name": "shop.mart.totals",
    },
    "snowflake": {
        "QUERY_ID": "s",
        "QUERY_START_TIME": 1_772_330_400,
        "OBJECTS_MODIFIED": [{"objectDomain": "Table", "objectName": "SHOP.MART.TOTALS"}],
    },
    "trino": {
        "metadata": {"queryId": "s"},
        "createTime": 1_772_330_400,
        "ioMetadata": {"output": {"catalogName": "shop", "schema": "mart", "table": "totals"}},
    },
    "bigquery": {
        "job_id": "s",
        "creation_time": 1_772_330_400,
        "destination_table": {"project_id": "shop", "dataset_id": "mart", "table_id": "totals"},
    },
}
"""A row of each source that writes the same table."""

NAMES = [
    ("databricks", "databricks://adb-1.net", "shop.mart.totals"),
    ("databricks", "databricks", "shop.mart.totals"),
    ("snowflake", "snowflake://org-account", "SHOP.MART.TOTALS"),
    ("snowflake", "snowflake", "shop.mart.totals"),
    ("trino", "trino://trino.example:8080", "shop.mart.totals"),
    ("trino", "trino", "shop.mart.totals"),
    ("bigquery", "bigquery", "shop.mart.totals"),
]


@pytest.mark.parametrize(("source", "namespace", "name"), NAMES)
def test_a_table_has_one_name(source: str, namespace: str, name: str) -> None:
    (run,) = golden_rows.read(source, [WRITTEN[source]], namespace).runs
    assert isinstance(run, RecordedRun)
    assert run.info.destinations == (Dataset(namespace, name),)
    event = {**format_documents.event(), "outputs": [{"namespace": namespace, "name": name}]}
    (recorded,) = parse_event(event, name_rules=NameRules()).runs
    assert isinstance(recorded, IncomingEvent)
    lineage = decode_lineage(recorded.bodies[recorded.event.lineage_digest])
    assert (namespace, name) in lineage.datasets
    script = sql.read_document(
        {
            "run": format_documents.run("r"),
            "sql": "INSERT INTO shop.mart.totals (a) SELECT a FROM shop.mart.s",
            "dialect": source,
            "datasetNamespace": namespace,
        },
        namespace="n",
        columns=lambda _: None,
    )
    assert script.recorded.info.destinations == run.info.destinations
    if "://" not in namespace:
        urn = f"urn:li:dataset:(urn:li:dataPlatform:{namespace},{name},PROD)"
        assert urns.parse_dataset(urn) == run.info.destinations[0]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("success", State.COMPLETE),
        ("fail", State.FAIL),
        ("incident", State.FAIL),
        ("FAILED_WITH_ERROR", State.FAIL),
        ("FAILED_WITH_INCIDENT", State.FAIL),
        ("RUNNING", State.RUNNING),
    ],
)
def test_states_of_the_view_and_of_the_table_function(status: str, state: State) -> None:
    row = WRITTEN["snowflake"] | {"EXECUTION_STATUS": status}
    (run,) = golden_rows.read("snowflake", [row], "snowflake").runs
    assert isinstance(run.run, ProgramRun)
    assert run.run.state == state


@pytest.mark.parametrize("row", [{}, {"QUERY_ID": "s"}, {"statement_id": "s"}, {"job_id": "j"}])
def test_rows_of_other_systems_are_no_events_of_trino(row: dict[str, Any]) -> None:
    with pytest.raises(UnreadableDocument, match=r"ioMetadata: missing"):
        golden_rows.read("trino", [row], "trino")


@pytest.mark.parametrize("status", ["FAILED", "failed"])
def test_a_failed_statement_of_databricks_is_not_complete(status: str) -> None:
    row = WRITTEN["databricks"] | {"execution_status": status}
    (run,) = golden_rows.read("databricks", [row], "databricks").runs
    assert isinstance(run.run, ProgramRun)
    assert run.run.state == State.FAIL
