"""Artifacts for tests: those that dbt wrote (tests/golden/dbt), and small ones made by hand."""

from __future__ import annotations

import copy
import gzip
import shutil
from pathlib import Path
from typing import Any

from fll_hbase.model.runs import RecordedRun
from fll_hbase.queries import acknowledgements
from fll_hbase.sources import dbt
from fll_hbase.sources.dbt import ParsedArtifacts

GOLDEN = Path(__file__).parents[1] / "golden" / "dbt"
NAMESPACES = {"shop": "duckdb://shop.duckdb", "clinic": "postgres://127.0.0.1:5432"}
"""The namespaces of datasets by project, as their profiles give them to OpenLineage's dbt integration."""

CASES = sorted(path.parent for path in GOLDEN.glob("*/*/manifest.json.gz"))
GENERATED_AT = "2026-01-31T09:30:00.500000Z"
GENERATED_AT_MS = 1_769_851_800_500
NOW_MS = 1_770_000_000_000
"""The time at which documents arrive."""


def target_folder(case: Path, folder: Path) -> Path:
    """Lay out a case as dbt's target folder."""
    (folder / "manifest.json").write_bytes(gzip.decompress((case / "manifest.json.gz").read_bytes()))
    for name in ("catalog.json", "run_results.json"):
        if (case / name).exists():
            shutil.copy(case / name, folder)
    return folder


def golden_document(case: Path, folder: Path) -> dict[str, Any]:
    """The document of a case, with the namespace of its datasets."""
    return dbt.read_target(target_folder(case, folder)) | {"datasetNamespace": NAMESPACES[case.parent.name]}


def read(document: object, **columns: list[str]) -> ParsedArtifacts:
    """Read a document in namespace `ns`; `columns` are those that the store knows, by dataset name."""
    return dbt.read(
        document, namespace="ns", columns=lambda dataset: columns.get(dataset.name), now_ms=NOW_MS
    )


def node(
    name: str, code: str = "", *, type: str = "model", depends_on: tuple[str, ...] = (), **members: Any
) -> Any:
    """A node of project `p` in schema `s`, with its unique id."""
    materialized = members.pop("materialized", type if type != "model" else "table")
    node = {
        "resource_type": type,
        "database": None,
        "schema": "s",
        "alias": name,
        "package_name": "p",
        "relation_name": f'"s"."{name}"',
        "config": {"materialized": materialized} | members.pop("config", {}),
        "depends_on": {"nodes": list(depends_on)},
        "compiled_code": code or None,
    }
    return f"{type}.p.{name}", node | members


def document(*nodes: Any, results: list[dict[str, Any]] | None = None, **members: Any) -> dict[str, Any]:
    """A document of nodes; without results it has none."""
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "generated_at": GENERATED_AT,
        "invocation_id": "i1",
        "adapter_type": "postgres",
        "project_name": "p",
        "dbt_version": "1.11.0",
    }
    parts: dict[str, Any] = {
        "manifest": {"metadata": metadata, "nodes": copy.deepcopy(dict(nodes)), "sources": {}},
        "datasetNamespace": "postgres://h:1",
    }
    if results is not None:
        parts["runResults"] = run_results(results)
    return parts | members


def run_results(results: list[dict[str, Any]], *, command: str = "run") -> dict[str, Any]:
    """Run results of the manifest's invocation."""
    url = "https://schemas.getdbt.com/dbt/run-results/v6.json"
    metadata = {"dbt_schema_version": url, "generated_at": GENERATED_AT, "invocation_id": "i1"}
    return {"metadata": metadata, "args": {"which": command}, "results": results}


def catalog(**tables: dict[str, str]) -> dict[str, Any]:
    """A catalog with the columns of models, in the order given."""
    url = "https://schemas.getdbt.com/dbt/catalog/v1.json"
    nodes = {
        f"model.p.{table}": {
            "columns": {
                name: {"name": name, "type": type_, "index": number}
                for number, (name, type_) in enumerate(columns.items(), 1)
            }
        }
        for table, columns in tables.items()
    }
    return {"metadata": {"dbt_schema_version": url, "generated_at": GENERATED_AT}, "nodes": nodes}


def edges(recorded: RecordedRun) -> dict[str, list[str]]:
    """The direct sources of each field written, as `dataset.field`; a generated field has none."""
    sources: dict[str, list[str]] = {}
    for entry in acknowledgements.dry_run(recorded.info)["lineage"]:
        source = f"{entry['source']['name']}." if entry["source"] else ""
        for pair in entry["fieldmap"]:
            if pair.get("influence") != "indirect":
                sources.setdefault(pair["to"], []).append(f"{source}{pair['from'] or ''}")
    return {name: sorted(names) for name, names in sources.items()}


OK = {"unique_id": "model.p.b", "status": "success", "timing": [], "message": "OK"}
A = node("a", "select id, x from raw.t")
B = node("b", 'select id, x + 1 as y from "s"."a"', depends_on=("model.p.a",))

SOURCE = {
    "resource_type": "source",
    "name": "t",
    "identifier": "t_2026",
    "database": "d",
    "schema": "raw",
    "relation_name": '"d"."raw"."t_2026"',
    "description": "Rows.",
}

SNAPSHOT = 'select k, v, u from "raw"."t"'
