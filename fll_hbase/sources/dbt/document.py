"""dbt documents: manifest, catalog and run results in one object, as the runs of one invocation.

docs/record/dbt.md describes the document and its mapping to runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.runs import ProgramRun, RecordedRun, State, encode_details
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources import sql
from fll_hbase.sources.dbt.artifact import (
    BUILDS_NOTHING,
    CATALOG,
    DATASET_NAMESPACE,
    MANIFEST,
    RUN_RESULTS,
    NodeResult,
    RunResults,
    read_artifact,
    read_catalog,
    read_run_results,
)
from fll_hbase.sources.dbt.manifest import BUILT, Manifest, Node, read_manifest
from fll_hbase.sources.dbt.model_lineage import Project, build_tables, node_operations
from fll_hbase.sources.dialect_names import dialect_of
from fll_hbase.sources.native.document import read_head
from fll_hbase.sources.sql.dialects import STANDARD_SQL
from fll_hbase.sources.validation import ID_BYTES_MAX, Part, Validator, child_path

FIXED_NAMESPACES = {"bigquery": "bigquery"}
"""Namespaces of adapters, except those that contain a host, an account or a file."""

NO_CATALOG = "missing: columns of seeds and sources may not be known; see `dbt docs generate --no-compile`"

MEMBERS = (MANIFEST.member, CATALOG.member, RUN_RESULTS.member, "namespace", DATASET_NAMESPACE)
TYPE = "DBT"


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
    a dataset in the store's catalogue. Runs start at `now_ms` if the artifacts have no readable time. A model
    whose SQL cannot be parsed gets a warning. Raises UnreadableDocument with every error, TooLarge,
    DeadlineExceeded, and the errors of `columns`.
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
    """Yield metadata, if any, of built nodes and sources, with the catalog's fields or else the project's.

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


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of dbt with its results by unique id; `path` is the artifact that contains it.

    `written_ms` is when that artifact was written, else the last start of a node, else when the manifest was
    written, or 0 if all are unknown.
    """

    id: str
    path: str
    command: str
    results: dict[str, NodeResult]
    written_ms: int


def read_invocation(
    validator: Validator, manifest: Manifest, run_results: RunResults | None, *, now_ms: int
) -> Invocation:
    """Return the invocation of the run results, or of the manifest if they are missing or only compiled.

    In the manifest's invocation, every compiled node and every seed counts as built when the manifest was
    written. Every result has a start: `now_ms`, with a warning, if the artifacts have no readable time.
    """
    invocation = _read_invocation(validator, manifest, run_results)
    without_time = [result for result in invocation.results.values() if not result.start_ms]
    if not without_time:
        return invocation
    # A node that failed before it was compiled has no time of its own.
    if not invocation.written_ms:
        detail = f"no time can be read: {len(without_time)} runs start when the document arrived"
        validator.warning(child_path(invocation.path, "results"), detail)
    start_ms = invocation.written_ms or now_ms
    dated = {result.unique_id: replace(result, start_ms=start_ms) for result in without_time}
    return replace(invocation, results=invocation.results | dated)


def _read_invocation(validator: Validator, manifest: Manifest, run_results: RunResults | None) -> Invocation:
    """Return the invocation, in which starts may be 0; warn of results that do not fit the manifest."""
    if run_results is None or run_results.command in BUILDS_NOTHING:
        if run_results is not None:
            detail = (
                f"`dbt {run_results.command}` builds nothing: taken as built when the manifest was written"
            )
            validator.warning(RUN_RESULTS.member, detail)
        return Invocation(
            id=manifest.artifact.invocation_id,
            path=MANIFEST.member,
            command="",
            results=_compiled(validator, manifest),
            written_ms=manifest.artifact.generated_at_ms,
        )
    # `dbt docs generate` without `--no-compile` overwrites the manifest of the build.
    if run_results.artifact.invocation_id != manifest.artifact.invocation_id:
        detail = "differs from the invocation id of the run results: the SQL may be of another build"
        validator.warning(f"{MANIFEST.member}.metadata.invocation_id", detail)
    for result in run_results.results.values():
        if result.unique_id not in manifest.nodes:
            detail = f"{result.unique_id!r} is not a readable node of the manifest; left out"
            validator.warning(result.path, detail)
    warn_of_counts(validator, RUN_RESULTS.member, "not built", run_results.passed_over)
    last_start_ms = max((result.start_ms for result in run_results.results.values()), default=0)
    written_ms = run_results.artifact.generated_at_ms or last_start_ms or manifest.artifact.generated_at_ms
    return Invocation(
        id=run_results.artifact.invocation_id,
        path=RUN_RESULTS.member,
        command=run_results.command,
        results=run_results.results,
        written_ms=written_ms,
    )


def dependency_order(validator: Validator, nodes: Mapping[str, Node]) -> list[str]:
    """Return all unique ids after their dependencies; warn of cycles, whose nodes and followers come last."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for unique_id, node in deadline.watched(nodes.items()):
        sorter.add(unique_id, *(source for source in node.depends_on if source in nodes))
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = ", ".join(sorted(set(error.args[1]))[:10])
        detail = f"some depend on one another in a cycle: {cycle}; columns of `SELECT *` may be unknown"
        validator.warning(child_path(MANIFEST.member, "nodes"), detail)
    # After the error, the sorter still returns the nodes that no cycle blocks.
    ordered: dict[str, None] = {}
    while ready := sorter.get_ready():
        ordered.update(dict.fromkeys(ready))
        sorter.done(*ready)
    return list(ordered | dict.fromkeys(nodes))


def build_runs(
    validator: Validator, project: Project, manifest: Manifest, invocation: Invocation, *, namespace: str
) -> Iterator[RecordedRun]:
    """Yield a run for each built node, upstream nodes first; add errors and warnings to `validator`.

    The id of a run is `<invocation id>:<unique id>`, so that the same artifacts produce the same runs.
    """
    validator.name(invocation.id, f"{invocation.path}.metadata.invocation_id", bytes_max=ID_BYTES_MAX)
    # In this order, the SQL of a node finds the columns of its upstream nodes. The order covers all nodes,
    # since a dependency may lead through a skipped node.
    for unique_id in deadline.watched(dependency_order(validator, manifest.nodes)):
        result = invocation.results.get(unique_id)
        if result is None or not manifest.nodes[unique_id].is_built:
            continue
        node = manifest.nodes[unique_id]
        errors_before = validator.errors.count
        run_id = validator.name(f"{invocation.id}:{unique_id}", node.path, bytes_max=ID_BYTES_MAX)
        if validator.leave_out(node.path, errors_before=errors_before):
            continue
        # The results have the SQL that was executed; the manifest may come from a later compilation.
        code = result.code or node.code
        operations = node_operations(project, node, code)
        validator.warnings.extend(operations.warnings)
        run = ProgramRun(
            namespace=namespace,
            application=manifest.project or node.package or _package(unique_id),
            version="",
            type=TYPE,
            program=unique_id,
            run=run_id,
            start_ms=result.start_ms,
            state=result.state,
            details=encode_details(
                sql=code if node.language != "python" else "",
                # The message of a successful node is a row count.
                error=result.message if result.state is State.FAIL else "",
                command=invocation.command,
                dbtVersion=manifest.dbt_version,
                materialization=node.materialization,
            ),
        )
        yield RecordedRun(run, operations.info)


def _package(unique_id: str) -> str:
    """Return the second part of a unique id, `shop` of `model.shop.customers`, or all of it if empty."""
    parts = unique_id.split(".")
    return parts[1] if len(parts) > 1 and parts[1] else unique_id


def _compiled(validator: Validator, manifest: Manifest) -> dict[str, NodeResult]:
    """Return a result for each compiled node and each seed; count other nodes in a warning."""
    built = [node for node in manifest.nodes.values() if node.is_built]
    compiled = [node for node in built if node.code or node.type == "seed"]
    not_compiled = Counter(node.type for node in built if not node.code and node.type != "seed")
    warn_of_counts(validator, child_path(MANIFEST.member, "nodes"), "without compiled code", not_compiled)
    return {
        node.unique_id: NodeResult(node.unique_id, node.path, State.COMPLETE, 0, "", "") for node in compiled
    }


def warn_of_counts(validator: Validator, path: str, reason: str, counts: Counter[str]) -> None:
    """Warn of parts that are left out, if there are any: `ignored, so not recorded: exposure 1, test 3`."""
    if counts:
        listed = ", ".join(f"{word} {number}" for word, number in sorted(counts.items()))
        validator.warning(path, f"{reason}, so not recorded: {listed}")
