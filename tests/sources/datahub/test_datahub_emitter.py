"""DataHub's own clients, unmodified, pointed at a real server; then the lineage is asked for."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests

from tests.support.datahub_client import (
    DataFlow,
    DataFlowUrn,
    DataHubClient,
    DatahubRestEmitter,
    DataJob,
    DataJobPatchBuilder,
    DataJobUrn,
    Dataset,
    DatasetPatchBuilder,
    EmitMode,
    OperationalError,
    Pipeline,
    Proposal,
    SdkUsageError,
    make_dataset_urn,
    make_schema_field_urn,
    models,
)
from tests.support.server_process import Server

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::datahub.errors.IngestionAttributionWarning"),
]
NUMBERS = count()
DATAHUB = str(Path(sys.executable).with_name("datahub"))
RECIPE = """\
source:
  type: file
  config:
    path: {path}
sink:
  type: datahub-rest
  config:
    server: {url}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`fll serve` over a store of its own."""
    with Server(tmp_path_factory.mktemp("datahub") / "store.db", workers=1) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture(params=[False, True], ids=["restli", "openapi"])
def emitter(url: str, request: pytest.FixtureRequest) -> Iterator[DatahubRestEmitter]:
    """The emitter, in either of its protocols; its token says nothing here."""
    with DatahubRestEmitter(
        url, token="secret", openapi_ingestion=request.param, retry_max_times=1
    ) as created:
        created.test_connection()
        yield created


@pytest.fixture
def client(url: str) -> DataHubClient:
    """The SDK's client."""
    return DataHubClient(server=url)


@pytest.fixture
def db() -> str:
    """Prefix of the names of one test, so that tests share one server."""
    return f"db{next(NUMBERS)}"


def dataset(name: str) -> str:
    return str(make_dataset_urn("hive", name))


def edge(owner: str) -> models.UpstreamClass:
    return models.UpstreamClass(dataset=owner, type="TRANSFORMED")


def derived(
    downstream: tuple[str, str], *upstreams: tuple[str, str], **more: Any
) -> models.FineGrainedLineageClass:
    """A fine-grained entry, of (dataset, field) each."""
    return models.FineGrainedLineageClass(
        upstreamType=models.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        downstreamType=models.FineGrainedLineageDownstreamTypeClass.FIELD,
        upstreams=[make_schema_field_urn(*item) for item in upstreams],
        downstreams=[make_schema_field_urn(*downstream)],
        **more,
    )


def lineage(source: str, target: str) -> models.UpstreamLineageClass:
    """Two fields of one source, one of them under its own name."""
    entries = [
        derived((target, "total"), (source, "price"), (source, "tax"), transformOperation="price + tax"),
        derived((target, "day"), (source, "day")),
    ]
    return models.UpstreamLineageClass(upstreams=[edge(source)], fineGrainedLineages=entries)


def requested(url: str, *segments: str, **query: str) -> Any:
    """A question and its answer."""
    path = "/".join(quote(segment, safe="") for segment in segments)
    answer = requests.get(f"{url}/v3/namespaces/{path}", params=query, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pairs(url: str, name: str, *, namespace: str = "hive") -> set[tuple[str, str | None, str | None]]:
    """(source, from, to) of what leads into an end point; an unknown relation has neither."""
    result: set[tuple[str, str | None, str | None]] = set()
    for entry in requested(url, namespace, "endpoints", name, "fields", "lineage", direction="backward"):
        source = entry["source"]["name"]
        result |= {(source, pair["from"], pair["to"]) for pair in entry["fieldmap"]}
        if entry.get("unknown"):
            result.add((source, None, None))
    return result


def runs(url: str, name: str) -> list[dict[str, Any]]:
    """The runs that touched an end point."""
    listed: list[dict[str, Any]] = requested(url, "hive", "endpoints", name, "runs")["runs"]
    return listed


def expected(source: str) -> set[tuple[str, str, str]]:
    return {(source, "price", "total"), (source, "tax", "total"), (source, "day", "day")}


class TestEmitter:
    """Both protocols of the emitter."""

    @pytest.mark.slow
    def test_lineage(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        source, target = f"{db}.orders", f"{db}.daily"
        emitter.emit(Proposal(entityUrn=dataset(target), aspect=lineage(dataset(source), dataset(target))))
        assert pairs(url, target) == expected(source)
        (run,) = runs(url, target)
        assert (run["type"], run["program"], run["application"]) == ("DATAHUB", dataset(target), "hive")
        graph = requested(url, "hive", "endpoints", target, "fields", "total", "lineage")
        payload = {operation["name"]: operation["description"] for operation in graph["operations"]}
        assert payload["derive total"] == "price + tax"
        assert {node["label"] for node in graph["nodes"]} == {"price", "tax", "total"}

    def test_a_resend_is_one_run(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        again = Proposal(entityUrn=dataset(f"{db}.t"), aspect=lineage(dataset(f"{db}.s"), dataset(f"{db}.t")))
        for _ in range(3):
            emitter.emit_mcp(again)
        emitter.emit_mcps([again, again])
        assert len(runs(url, f"{db}.t")) == 1

    def test_a_batch(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        target, job = dataset(f"{db}.t"), str(DataJobUrn(DataFlowUrn("airflow", db, "PROD"), "load"))
        fields = [
            models.SchemaFieldClass(
                fieldPath=path,
                type=models.SchemaFieldDataTypeClass(type=models.StringTypeClass()),
                nativeDataType=native,
            )
            for path, native in (
                ("total", "decimal(10,2)"),
                ("[version=2.0].[type=struct].[type=struct].buyer.[type=string].name", "string"),
            )
        ]
        schema = models.SchemaMetadataClass(
            schemaName="t",
            platform="urn:li:dataPlatform:hive",
            version=0,
            hash="",
            platformSchema=models.OtherSchemaClass(rawSchema=""),
            fields=fields,
        )
        aspects = [
            schema,
            models.DatasetPropertiesClass(description="Totals by day"),
            models.StatusClass(removed=False),
            lineage(dataset(f"{db}.s"), target),
        ]
        edges = models.DataJobInputOutputClass(
            inputDatasets=[target],
            outputDatasets=[dataset(f"{db}.u")],
            fineGrainedLineages=[derived((dataset(f"{db}.u"), "sum"), (target, "total"))],
        )
        emitter.emit_mcps(
            [*Proposal.construct_many(target, aspects), Proposal(entityUrn=job, aspect=edges)],
            emit_mode=EmitMode.SYNC_WAIT,
        )
        listed = requested(url, "hive", "endpoints", f"{db}.t", "fields")["fields"]
        assert {field["name"]: field.get("type") for field in listed} == {
            "buyer/name": "string",
            "day": None,
            "total": "decimal(10,2)",
        }
        (described,) = requested(url, "hive", "endpoints", prefix=f"{db}.t")["endpoints"]
        assert described["description"] == "Totals by day"
        assert pairs(url, f"{db}.u") == {(f"{db}.t", "total", "sum")}
        result = requested(
            url, "hive", "endpoints", f"{db}.u", "fields", "lineage", level="2", direction="backward"
        )
        assert {entry["source"]["name"] for entry in result} == {f"{db}.t", f"{db}.s"}
        (run,) = runs(url, f"{db}.u")
        assert (run["namespace"], run["application"], run["program"]) == ("airflow", db, job)

    def test_names_of_any_characters(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        source, target = f"{db}/a,b (größe 🙂) 100%.csv", f"{db}/50%2C/é"
        urns = [str(make_dataset_urn("s3", name, "DEV")) for name in (source, target)]
        proposal = Proposal(entityUrn=urns[1], aspect=lineage(*urns))
        emitter.emit_mcp(proposal)
        emitter.emit_mcps([proposal])
        assert len(requested(url, "s3:DEV", "endpoints", f"{db}/50,/é", "runs")["runs"]) == 1
        assert pairs(url, f"{db}/50,/é", namespace="s3:DEV") == expected(source)

    def test_a_dataset_without_fields_is_related_all_the_same(
        self, url: str, emitter: DatahubRestEmitter, db: str
    ) -> None:
        aspect = models.UpstreamLineageClass(upstreams=[edge(dataset(f"{db}.s"))])
        emitter.emit_mcp(Proposal(entityUrn=dataset(f"{db}.t"), aspect=aspect))
        assert pairs(url, f"{db}.t") == {(f"{db}.s", None, None)}

    def test_a_snapshot(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        target = dataset(f"{db}.t")
        snapshot = models.DatasetSnapshotClass(
            urn=target, aspects=[lineage(dataset(f"{db}.s"), target), models.StatusClass(removed=False)]
        )
        emitter.emit_mce(models.MetadataChangeEventClass(proposedSnapshot=snapshot))
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")

    def test_patches(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        patch = DatasetPatchBuilder(target).add_upstream_lineage(edge(source))
        for entry in lineage(source, target).fineGrainedLineages or []:
            patch.add_fine_grained_lineage(entry)
        for proposal in patch.build():
            emitter.emit(proposal)
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")
        undo = DatasetPatchBuilder(target).remove_upstream_lineage(source)
        emitter.emit_mcps(undo.build())
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")
        assert len(runs(url, f"{db}.t")) == 1

    def test_patches_of_jobs(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        patch = DataJobPatchBuilder(str(DataJobUrn(DataFlowUrn("airflow", db, "PROD"), "load")))
        patch.add_input_dataset(source).add_output_dataset(target)
        patch.add_input_dataset_field(make_schema_field_urn(source, "a"))
        patch.add_fine_grained_lineage(derived((target, "b"), (source, "a")))
        for proposal in patch.build():
            emitter.emit_mcp(proposal)
        assert pairs(url, f"{db}.t") == {(f"{db}.s", "a", "b")}

    def test_a_deletion_undoes_nothing(self, url: str, emitter: DatahubRestEmitter, db: str) -> None:
        target = dataset(f"{db}/t")
        emitter.emit_mcp(Proposal(entityUrn=target, aspect=lineage(dataset(f"{db}/s"), target)))
        key = {"entityUrn": target, "entityType": "dataset", "aspectName": "datasetKey"}
        emitter.emit_mcp(models.MetadataChangeProposalClass(changeType="DELETE", **key))
        assert pairs(url, f"{db}/t") == expected(f"{db}/s")

    @pytest.mark.parametrize("mode", [EmitMode.ASYNC, EmitMode.ASYNC_WAIT])
    @pytest.mark.filterwarnings("ignore:No trace ID found")
    def test_whoever_does_not_wait(
        self, url: str, emitter: DatahubRestEmitter, db: str, mode: EmitMode
    ) -> None:
        target = dataset(f"{db}.t")
        emitter.emit_mcp(
            Proposal(entityUrn=target, aspect=lineage(dataset(f"{db}.s"), target)), emit_mode=mode
        )
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")

    def test_what_is_refused_is_reported_and_the_rest_recorded(
        self, url: str, emitter: DatahubRestEmitter, db: str
    ) -> None:
        good = Proposal(entityUrn=dataset(f"{db}.t"), aspect=lineage(dataset(f"{db}.s"), dataset(f"{db}.t")))
        bad = Proposal(entityUrn=dataset(f"{db}.u"), aspect=lineage("urn:li:dataset:x", dataset(f"{db}.u")))
        with pytest.raises(OperationalError, match="'urn:li:dataset:x' is not an urn of a dataset") as error:
            emitter.emit_mcps([good, bad])
        assert error.value.info["status"] == 400
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")
        assert requests.get(f"{url}/v3/namespaces/hive/endpoints/{db}.u/runs", timeout=120).status_code == 404


class TestSdk:
    """The parts of the SDK that need neither GraphQL nor search."""

    def test_datasets_and_lineage_by_columns(self, url: str, client: DataHubClient, db: str) -> None:
        for name, columns in (("s", ["price", "tax"]), ("t", ["price", "total"])):
            schema = [(column, "decimal") for column in columns]
            client.entities.upsert(Dataset(platform="hive", name=f"{db}.{name}", schema=schema))
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        mapping = {"total": ["price", "tax"]}
        client.lineage.add_lineage(upstream=source, downstream=target, column_lineage=mapping)
        assert pairs(url, f"{db}.t") == {(f"{db}.s", "price", "total"), (f"{db}.s", "tax", "total")}
        client.lineage.add_lineage(upstream=source, downstream=target, column_lineage="auto_strict")
        assert (f"{db}.s", "price", "price") in pairs(url, f"{db}.t")

    def test_a_dataset_that_reports_its_upstreams(self, url: str, client: DataHubClient, db: str) -> None:
        upstreams = {dataset(f"{db}.s"): {"total": ["price", "tax"], "day": ["day"]}}
        client.entities.upsert(Dataset(platform="hive", name=f"{db}.t", upstreams=upstreams))
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")

    def test_jobs(self, url: str, client: DataHubClient, db: str) -> None:
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        flow = DataFlow(platform="airflow", name=db)
        entries = [derived((target, "b"), (source, "a"))]
        job = DataJob(
            name="load", flow=flow, inlets=[source], outlets=[target], fine_grained_lineages=entries
        )
        client.entities.upsert(flow)
        client.entities.upsert(job)
        assert pairs(url, f"{db}.t") == {(f"{db}.s", "a", "b")}
        with pytest.raises(SdkUsageError, match="does not exist"):
            client.lineage.add_lineage(upstream=source, downstream=str(job.urn))

    def test_existence_is_what_the_catalogue_knows(self, client: DataHubClient, db: str) -> None:
        fresh = Dataset(platform="hive", name=f"{db}.fresh")
        client.entities.create(fresh)
        with pytest.raises(SdkUsageError, match="already exists"):
            client.entities.create(fresh)
        client.entities.delete(fresh.urn)
        client.entities.delete(fresh.urn, hard=True)

    def test_what_does_not_work_says_so(self, client: DataHubClient, db: str) -> None:
        with pytest.raises(OperationalError):
            client.lineage.get_lineage(source_urn=dataset(db))
        with pytest.raises(OperationalError):
            list(client.search.get_urns())


class TestOthers:
    """The ingestion framework, and whoever speaks HTTP alone."""

    def test_a_recipe_with_our_url(self, url: str, db: str, tmp_path: Path) -> None:
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        file = tmp_path / "proposals.json"
        file.write_text(json.dumps([Proposal(entityUrn=target, aspect=lineage(source, target)).to_obj()]))
        recipe = {
            "source": {"type": "file", "config": {"path": str(file)}},
            "sink": {"type": "datahub-rest", "config": {"server": url}},
        }
        pipeline = Pipeline.create(recipe, report_to=None)
        pipeline.run()
        pipeline.raise_from_status()
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")

    @pytest.mark.slow
    def test_the_command_with_a_recipe(self, url: str, db: str, tmp_path: Path) -> None:
        """`datahub ingest -c recipe.yml` as docs/record/datahub.md has it, in a process of its own."""
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        proposals = [
            Proposal(entityUrn=target, aspect=lineage(source, target)),
            Proposal(entityUrn=target, aspect=models.DatasetPropertiesClass(description="Totals by day")),
        ]
        file, recipe = tmp_path / "proposals.json", tmp_path / "recipe.yml"
        file.write_text(json.dumps([proposal.to_obj() for proposal in proposals]))
        recipe.write_text(RECIPE.format(path=file, url=url))
        done = subprocess.run(
            [DATAHUB, "ingest", "-c", str(recipe)],
            env={**os.environ, "HOME": str(tmp_path), "DATAHUB_TELEMETRY_ENABLED": "false"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Pipeline finished successfully" in done.stdout + done.stderr
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")
        (described,) = requested(url, "hive", "endpoints", prefix=f"{db}.t")["endpoints"]
        assert described["description"] == "Totals by day"

    @pytest.mark.slow
    def test_gzip(self, url: str, db: str) -> None:
        source, target = dataset(f"{db}.s"), dataset(f"{db}.t")
        body = [{"urn": target, "upstreamLineage": {"value": lineage(source, target).to_obj()}}]
        answer = requests.post(
            f"{url}/openapi/v3/entity/dataset?async=false&createIfNotExists=false",
            data=gzip.compress(json.dumps(body).encode()),
            headers={"Content-Encoding": "gzip", "Content-Type": "application/json"},
            timeout=120,
        )
        assert answer.status_code == 200, answer.text
        assert pairs(url, f"{db}.t") == expected(f"{db}.s")
