"""dbt documents: manifest, catalog and run results in one object, as the runs of one invocation.

docs/record/dbt.md describes the document and its mapping to runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources import sql
from fll_hbase.sources.dbt.artifact import (
    CATALOG,
    DATASET_NAMESPACE,
    MANIFEST,
    RUN_RESULTS,
    read_artifact,
    read_catalog,
)
from fll_hbase.sources.dbt.manifest import BUILT, read_manifest
from fll_hbase.sources.dbt.model_lineage import Project, build_tables
from fll_hbase.sources.dbt.node_runs import build_runs, read_invocation, warn_of_counts
from fll_hbase.sources.dbt.run_results import RunResults, read_run_results
from fll_hbase.sources.native.document import read_head
from fll_hbase.sources.sql.dialects import STANDARD_SQL
from fll_hbase.sources.sql.dialects.schemes import dialect_of
from fll_hbase.sources.validation import ID_BYTES_MAX, Part, Validator

FIXED_NAMESPACES = {"bigquery": "bigquery"}
"""Namespaces of adapters, except those that contain a host, an account or a file."""

NO_CATALOG = "missing: columns of seeds and sources may not be known; see `dbt docs generate --no-compile`"

MEMBERS = (MANIFEST.member, CATALOG.member, RUN_RESULTS.member, "namespace", DATASET_NAMESPACE)


@dataclass(frozen=True, slots=True)
class ParsedArtifacts:
    """A run for each node that dbt built, upstream nodes first, and the metadata of all datasets."""

    runs: tuple[RecordedRun, ...]
    metadata: tuple[DatasetMetadata, ...]
    warnings: tuple[FieldError, ...]


def read(
    document: object, *, namespace: str | None, columns: sql.FieldLookup, now_ms: int
) -> ParsedArtifacts:
    """Read the runs and metadata of dbt's artifacts.

    `namespace` comes from the URL. If it is None, the document must contain one. `columns` looks up fields of
    a dataset in the store's catalogue. Runs start at `now_ms` if no time in the artifacts can be read. Raises
    UnreadableDocument with every error, and the errors of `columns`. A model whose SQL cannot be parsed gets
    a warning and unknown column lineage.
    """
    top, namespace = read_head(document, namespace, *MEMBERS)
    validator = top.validator
    manifest = read_manifest(read_artifact(top, MANIFEST))
    catalog: dict[str, tuple[Field, ...]] = {}
    if top.get(CATALOG.member) is not None:
        # A catalog only adds columns and types; the runs are the same without it.
        listed = top.member(CATALOG.member).readable(lambda _: read_catalog(read_artifact(top, CATALOG)))
        catalog = listed or {}
    run_results: RunResults | None = None
    if top.get(RUN_RESULTS.member) is not None:
        run_results = read_run_results(read_artifact(top, RUN_RESULTS), BUILT)
    dataset_namespace = _dataset_namespace(top, manifest.adapter, namespace)
    validator.check()
    if not catalog:
        validator.warning(CATALOG.member, NO_CATALOG)
    warn_of_counts(validator, MANIFEST.member, "ignored", manifest.ignored)
    dialect = _dialect(validator, manifest.adapter)
    tables = build_tables(manifest.nodes, catalog, namespace=dataset_namespace, columns=columns)
    project = Project(manifest.nodes, dataset_namespace, dialect, tables)
    invocation = read_invocation(validator, manifest, run_results, now_ms=now_ms)
    # A tuple runs the generator, which adds errors to `validator`, before the check below.
    runs = tuple(build_runs(validator, project, manifest, invocation, namespace=namespace))
    validator.check()
    return ParsedArtifacts(runs, tuple(_metadata(project, catalog)), tuple(validator.warnings))


def _dataset_namespace(top: Part, adapter: str, namespace: str) -> str:
    """Return the namespace of datasets: given, else fixed by adapter, else `namespace` with a warning."""
    # OpenLineage's dbt integration derives it from the connection, which artifacts do not contain.
    given = ""
    if top.get(DATASET_NAMESPACE) is not None:
        given = top.optional(DATASET_NAMESPACE, bytes_max=ID_BYTES_MAX)
    if given or adapter in FIXED_NAMESPACES:
        return given or FIXED_NAMESPACES[adapter]
    example = f"{adapter or 'postgres'}://host:port"
    detail = f"missing: datasets are in namespace {namespace!r}; OpenLineage uses one such as {example}"
    top.warning(detail, DATASET_NAMESPACE)
    return namespace


def _dialect(validator: Validator, adapter: str) -> str:
    """Return the SQL dialect of an adapter; standard SQL with a warning if it is unknown."""
    dialect = dialect_of(adapter)
    if dialect is None:
        path = f"{MANIFEST.member}.metadata.adapter_type"
        reason = f"{adapter[:100]!r} has no dialect here" if adapter else "no adapter is known"
        validator.warning(path, f"{reason}: the SQL is read as standard SQL")
    return STANDARD_SQL if dialect is None else dialect


def _metadata(project: Project, catalog: Mapping[str, tuple[Field, ...]]) -> Iterator[DatasetMetadata]:
    """Yield metadata of built nodes and sources, with the catalog's fields or else the project's.

    If the identifier of a source differs from its name, it becomes an alias.
    """
    for node in deadline.watched(project.nodes.values()):
        fields = catalog.get(node.unique_id, node.fields)
        aliases: tuple[Dataset, ...] = ()
        # A different spelling alone is not an alias, since databases change the case of unquoted names.
        if node.type == "source" and node.relation.lower() != node.name.lower():
            aliases = (Dataset(project.namespace, node.relation),)
        if (node.is_built or node.type == "source") and (fields or node.description or aliases):
            yield DatasetMetadata(project.dataset(node), fields, node.description, aliases)
