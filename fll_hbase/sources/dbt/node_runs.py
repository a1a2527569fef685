"""Runs: the nodes that an invocation built, in dependency order, as recorded runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from fll_hbase.model.runs import ProgramRun, RecordedRun, State, encode_details
from fll_hbase.runtime import deadline
from fll_hbase.sources.dbt.artifact import MANIFEST, RUN_RESULTS
from fll_hbase.sources.dbt.manifest import Manifest, Node
from fll_hbase.sources.dbt.model_lineage import Project, node_operations
from fll_hbase.sources.dbt.run_results import BUILDS_NOTHING, NodeResult, RunResults
from fll_hbase.sources.validation import ID_BYTES_MAX, Validator, child_path

TYPE = "DBT"


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
    """Return all unique ids after their dependencies; warn of cycles, whose nodes come last."""
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
