"""Artifacts that dbt wrote: all of them are read, and agree with dbt's OpenLineage integration.

tests/golden/dbt/README.md describes how they were made.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import RecordOutcome, RecordResult
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Read
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.dbt_artifacts import CASES, NAMESPACES, golden_document, read
from tests.support.golden_cases import read_cases

OPENLINEAGE = [case for case in CASES if (case / "openlineage.json").exists()]


def test_every_build_is_in_a_golden_case() -> None:
    golden = [
        (case.members["project"], build)
        for case in read_cases("dbt")
        for build in case.members["builds"].split(", ")
    ]
    assert sorted(golden) == [(case.parent.name, case.name) for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_the_whole_artifacts_say_what_the_document_of_the_folder_says(case: Path, tmp_path: Path) -> None:
    """Nothing is left out of the document that is read of an artifact."""
    document = golden_document(case, tmp_path)
    unpruned = {
        member: json.loads((tmp_path / name).read_text(encoding="utf-8"))
        for member, name in (("manifest", "manifest.json"), ("catalog", "catalog.json"))
        if (tmp_path / name).exists()
    }
    assert read(document | unpruned) == read(document)


@pytest.mark.parametrize("project", NAMESPACES)
def test_every_version_of_dbt_gives_the_same_lineage(project: str, tmp_path: Path) -> None:
    """A second build with a catalog, whatever the version of dbt."""
    builds = [case for case in CASES if case.parent.name == project and case.name.count("_") == 2]
    assert len(builds) >= 3
    checksums = []
    for case in builds:
        folder = tmp_path / case.name
        folder.mkdir()
        parsed = read(golden_document(case, folder))
        checksums.append({recorded.run.program: recorded.info.checksum for recorded in parsed.runs})
    assert all(checksum == checksums[0] for checksum in checksums)


@pytest.mark.parametrize("case", OPENLINEAGE, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_names_and_times_are_those_of_the_openlineage_integration(case: Path, tmp_path: Path) -> None:
    """For each event: the output, when it started, its state, and the inputs where no ephemeral model is.

    The integration counts ephemeral models as datasets and leaves out seeds.
    """
    document = golden_document(case, tmp_path)
    nodes = document["manifest"]["nodes"].values()
    ephemeral = {
        f"{n['database']}.{n['schema']}.{n['alias']}"
        for n in nodes
        if n["config"]["materialized"] == "ephemeral"
    }
    seeds = {f"{n['database']}.{n['schema']}.{n['alias']}" for n in nodes if n["resource_type"] == "seed"}
    runs = {recorded.info.destinations[0]: recorded for recorded in read(document).runs}
    events = json.loads((case / "openlineage.json").read_text(encoding="utf-8"))
    assert len(events) == sum(not recorded.run.program.startswith("seed.") for recorded in runs.values())
    for event in events.values():
        (output,) = map(_dataset, event["outputs"])
        recorded = next(run for dataset, run in runs.items() if (dataset.namespace, dataset.name) == output)
        assert f"START {_time(recorded.run.start_ms)}" in [state[:29] for state in event["states"]]
        assert any(state.startswith(recorded.run.state.value) for state in event["states"])
        inputs = {_dataset(text) for text in event["inputs"]}
        if not {name for _, name in inputs} & ephemeral:
            reads = {op.source for op in recorded.info.operations if isinstance(op, Read)}
            names = {(d.namespace, d.name) for d in reads if d.name not in seeds | {output[1]}}
            assert names == inputs


def _dataset(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition(" | ")
    return namespace, name


def _time(start_ms: int) -> str:
    """To the millisecond, as far as it is kept."""
    return datetime.fromtimestamp(start_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")[:23]


def test_recorded_lineage_goes_from_seed_to_report(tmp_path: Path) -> None:
    """The document in a store: recorded once, answered across models, a source found by its identifier."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    reader = DocumentReader(columns=store.catalogue.field_names)
    case = next(case for case in CASES if case.name == "dbt_1_12")
    raw = json.dumps(golden_document(case, tmp_path)).encode()
    outcomes = []
    for _ in range(2):
        parsed = reader.try_read(raw, detect(raw), namespace="reports", now_ms=0)
        (result,) = ingest(store, [parsed])
        assert isinstance(result, RecordResult)
        assert len(result.runs) == 9
        outcomes.append(result.outcome)
    assert outcomes == [RecordOutcome.RECORDED, RecordOutcome.REPEATED]

    window = Window(0, START_LIMIT_MS)
    report = Dataset(NAMESPACES["shop"], "shop.main.everything")
    entries = store.lineage(report, window, directions=(Direction.BACKWARD,), level=9).entries
    sources = {entry.relation.source.name for entry in entries if entry.relation.source is not None}
    assert {"shop.main.raw_customers", "shop.main.raw_orders", "shop.main.customers"} <= sources
    assert not sources & {"shop.main.customer_totals", "shop.main.paid_orders"}
    visits = Dataset(NAMESPACES["shop"], "shop.web.page_visits")
    (entry,) = store.lineage(visits, window, directions=(Direction.FORWARD,)).entries
    assert str(entry.relation.destination) == f"{NAMESPACES['shop']}/shop.main.stg_visits"
