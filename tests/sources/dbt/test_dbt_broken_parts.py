"""A part of dbt's artifacts that cannot be read costs no other: the rest is the same as without that part."""

from __future__ import annotations

import pytest

from tests.support import dbt_artifacts
from tests.support.dbt_artifacts import node
from tests.support.document_parts import HALF, Json, Path, put, remove


def dbt_document() -> Json:
    """Return a document of two models, with results and a catalog."""
    results = [
        {"unique_id": f"model.p.{name}", "status": "success", "timing": [], "message": "OK"} for name in "ab"
    ]
    return dbt_artifacts.document(
        node("a", "select id, x from raw.t"),
        node("b", 'select id, x + 1 as y from "s"."a"', depends_on=("model.p.a",)),
        results=results,
        catalog=dbt_artifacts.catalog(a={"id": "int", "x": "int"}),
    )


MANIFEST: Path = ("manifest", "metadata")
RESULTS: Path = ("runResults", "metadata")
DAY_MS = 86_400_000
DBT_PARTS: dict[str, Path] = {
    "a node": ("manifest", "nodes", "model.p.b"),
    "the table of a catalog": ("catalog", "nodes", "model.p.a"),
    "the catalog": ("catalog",),
    "the version of a catalog": ("catalog", "metadata"),
    "a column of a catalog": ("catalog", "nodes", "model.p.a", "columns", "id"),
    "a result": ("runResults", "results", 1),
    "a time": ("runResults", "results", 0, "timing"),
}


@pytest.mark.parametrize("kind", DBT_PARTS)
@pytest.mark.parametrize("value", [5, [[5]], "?", True, HALF])
def test_dbt(kind: str, value: Json) -> None:
    document = dbt_document()
    path = DBT_PARTS[kind]
    broken = dbt_artifacts.read(put(document, path, value))
    rest = dbt_artifacts.read(remove(document, path))
    assert (broken.runs, broken.metadata) == (rest.runs, rest.metadata)
    assert any(".".join(map(str, path)) in warning.path for warning in broken.warnings)


DBT_TIMES: dict[str, tuple[tuple[Path, ...], list[int]]] = {
    # Broken times, and the starts of two runs: one whose node has a time, one that has none.
    "none": ((), [DAY_MS, dbt_artifacts.GENERATED_AT_MS]),
    "manifest": (((*MANIFEST, "generated_at"),), [DAY_MS, dbt_artifacts.GENERATED_AT_MS]),
    "catalog": ((("catalog", "metadata", "generated_at"),), [DAY_MS, dbt_artifacts.GENERATED_AT_MS]),
    "results": (((*RESULTS, "generated_at"),), [DAY_MS, DAY_MS]),
    "results, and of the node": (
        ((*RESULTS, "generated_at"), ("runResults", "results", 0, "timing")),
        [dbt_artifacts.GENERATED_AT_MS] * 2,
    ),
    "all": (
        (
            (*MANIFEST, "generated_at"),
            (*RESULTS, "generated_at"),
            ("runResults", "results", 0, "timing"),
        ),
        [dbt_artifacts.NOW_MS] * 2,
    ),
}


@pytest.mark.parametrize("kind", DBT_TIMES)
@pytest.mark.parametrize("value", [5, None, "", "soon", "1969-01-01", HALF])
def test_a_time_of_dbt_that_cannot_be_read_costs_no_run(kind: str, value: Json) -> None:
    paths, starts = DBT_TIMES[kind]
    document = dbt_document()
    document["runResults"]["results"][0]["timing"] = [{"name": "execute", "started_at": "1970-01-02"}]
    rest = dbt_artifacts.read(document)
    for path in paths:
        document = put(document, path, value)
    broken = dbt_artifacts.read(document)
    assert [run.run.start_ms for run in broken.runs] == starts
    assert [run.info for run in broken.runs] == [run.info for run in rest.runs]
    assert broken.metadata == rest.metadata
    warned = {warning.path for warning in broken.warnings}
    assert warned >= {".".join(map(str, path)) for path in paths if path[-1] == "generated_at"}
    assert ("runResults.results" in warned) is (kind == "all")


def test_a_manifest_without_a_time_is_built_when_it_arrives() -> None:
    document = dbt_document()
    del document["runResults"], document["manifest"]["metadata"]["generated_at"]
    broken = dbt_artifacts.read(document)
    assert [run.run.start_ms for run in broken.runs] == [dbt_artifacts.NOW_MS] * 2


def test_nodes_of_dbt_in_a_cycle_leave_the_others_alone() -> None:
    """No dbt writes one; the nodes that depend on it come last, as the manifest lists them."""
    document = dbt_document()
    document["manifest"]["nodes"]["model.p.a"]["depends_on"] = {"nodes": ["model.p.b"]}
    broken = dbt_artifacts.read(document)
    assert [run.run.program for run in broken.runs] == ["model.p.a", "model.p.b"]
    assert [run.info for run in broken.runs] == [run.info for run in dbt_artifacts.read(dbt_document()).runs]
    assert any("cycle: model.p.a, model.p.b" in str(warning) for warning in broken.warnings)


@pytest.mark.parametrize(
    ("path", "warned"),
    [
        (("manifest", "metadata", "project_name"), "manifest.metadata.project_name"),
        (("manifest", "nodes", "model.p.a", "package_name"), "manifest.nodes.model.p.a.package_name"),
    ],
)
def test_a_name_of_dbt_that_is_too_long_costs_no_run(path: Path, warned: str) -> None:
    document = put(dbt_document(), path, "x" * 5_000)
    broken = dbt_artifacts.read(document)
    assert [run.run.application for run in broken.runs] == ["p", "p"]
    assert warned in {warning.path for warning in broken.warnings}


def test_a_run_id_of_dbt_that_is_too_long_costs_its_run() -> None:
    name = "b" * 1_015
    document = dbt_artifacts.document(
        node("a", "select id, x from raw.t"), node(name, "select id from raw.t"), results=None
    )
    broken = dbt_artifacts.read(document)
    assert [run.run.program for run in broken.runs] == ["model.p.a"]
    assert f"manifest.nodes.model.p.{name}" in {warning.path for warning in broken.warnings}


@pytest.mark.parametrize("value", [5, None, [[5]], HALF, ""])
def test_without_an_adapter_dbt_sql_is_read_as_standard_sql(value: Json) -> None:
    broken = dbt_artifacts.read(put(dbt_document(), (*MANIFEST, "adapter_type"), value))
    assert [run.info for run in broken.runs] == [run.info for run in dbt_artifacts.read(dbt_document()).runs]
    assert any("read as standard SQL" in str(warning) for warning in broken.warnings)


def test_without_any_name_of_the_project_that_of_the_unique_id_is_used() -> None:
    document = dbt_document()
    del document["manifest"]["metadata"]["project_name"]
    for name in "ab":
        document["manifest"]["nodes"][f"model.p.{name}"]["package_name"] = None
    assert {run.run.application for run in dbt_artifacts.read(document).runs} == {"p"}
