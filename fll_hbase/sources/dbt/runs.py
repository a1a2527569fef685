"""Runs: which nodes an invocation built, in which order, and what is recorded of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from fll_hbase.errors import FieldError
from fll_hbase.model.runs import ProgramRun, RecordedRun, State, encode_details
from fll_hbase.sources.dbt.artifact import MANIFEST, RUN_RESULTS
from fll_hbase.sources.dbt.manifest import Manifest, Node
from fll_hbase.sources.dbt.model_lineage import Project, node_operations
from fll_hbase.sources.dbt.run_results import NodeResult, RunResults
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path

TYPE = "DBT"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of dbt, or what it would build where it only compiled; `results` are by unique id."""

    id: str
    path: str
    command: str
    results: dict[str, NodeResult]


def read_invocation(validator: Validator, manifest: Manifest, run_results: RunResults | None) -> Invocation:
    """The invocation of the run results; without any, or where they only compiled, that of the manifest.

    Then every node that dbt compiled, and every seed, is taken to be built when the manifest was written.
    """
    if run_results is None or not run_results.builds:
        if run_results is not None:
            detail = (
                f"`dbt {run_results.command}` builds nothing: taken as built when the manifest was written"
            )
            validator.warnings.append(FieldError(RUN_RESULTS.member, detail))
        return Invocation(
            id=manifest.artifact.invocation_id,
            path=MANIFEST.member,
            command="",
            results=_compiled(validator, manifest),
        )
    if run_results.artifact.invocation_id != manifest.artifact.invocation_id:
        detail = "is another than that of the run results: the SQL may be of another build"
        validator.warnings.append(FieldError(f"{MANIFEST.member}.metadata.invocation_id", detail))
    for result in run_results.results.values():
        if result.unique_id not in manifest.nodes:
            validator.error(result.path, f"{result.unique_id!r} is no node of the manifest")
    if run_results.passed_over:
        warning = count_warning(RUN_RESULTS.member, "not built", run_results.passed_over)
        validator.warnings.append(warning)
    return Invocation(
        id=run_results.artifact.invocation_id,
        path=RUN_RESULTS.member,
        command=run_results.command,
        results=run_results.results,
    )


def dependency_order(validator: Validator, nodes: Mapping[str, Node]) -> list[str]:
    """Unique ids, each behind those it depends on; empty where they depend on one another in a circle."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for unique_id, node in nodes.items():
        sorter.add(unique_id, *(source for source in node.depends_on if source in nodes))
    try:
        return list(sorter.static_order())
    except CycleError as error:
        circle = ", ".join(error.args[1][:10])
        validator.error(child_path(MANIFEST.member, "nodes"), f"depend on one another in a circle: {circle}")
        return []


def build_runs(
    validator: Validator, project: Project, manifest: Manifest, invocation: Invocation, *, namespace: str
) -> Iterator[RecordedRun]:
    """One run for each node built, upstream nodes first, so that their columns are known downstream.

    The id of a run is that of its invocation and its node: the same artifacts again are the same runs.
    """
    validator.name(invocation.id, f"{invocation.path}.metadata.invocation_id", bytes_max=ID_BYTES_MAX)
    for unique_id in dependency_order(validator, manifest.nodes):
        result = invocation.results.get(unique_id)
        if result is None or not manifest.nodes[unique_id].is_built:
            continue
        node = manifest.nodes[unique_id]
        code = result.code or node.code
        operations = node_operations(project, node, code)
        validator.warnings += operations.warnings
        run = ProgramRun(
            namespace=namespace,
            application=manifest.project or node.package,
            version="",
            type=TYPE,
            program=unique_id,
            run=validator.name(f"{invocation.id}:{unique_id}", node.path, bytes_max=ID_BYTES_MAX),
            start_ms=result.start_ms,
            state=result.state,
            details=encode_details(
                sql=code if node.language != "python" else "",
                error=result.message if result.state is State.FAIL else "",
                command=invocation.command,
                dbtVersion=manifest.dbt_version,
                materialization=node.materialization,
            ),
        )
        validator.name(run.application, child_path(node.path, "package_name"), bytes_max=NAME_BYTES_MAX)
        yield RecordedRun(run, operations.info)


def _compiled(validator: Validator, manifest: Manifest) -> dict[str, NodeResult]:
    """A result for each node that is to be built; models without compiled code are counted in a warning."""
    built = [node for node in manifest.nodes.values() if node.is_built]
    compiled = [node for node in built if node.code or node.type == "seed"]
    not_compiled = Counter(node.type for node in built if not node.code and node.type != "seed")
    if not_compiled:
        path = child_path(MANIFEST.member, "nodes")
        validator.warnings.append(count_warning(path, "without compiled code", not_compiled))
    start_ms = manifest.artifact.generated_at_ms
    return {
        node.unique_id: NodeResult(node.unique_id, node.path, State.COMPLETE, start_ms, "", "")
        for node in compiled
    }


def count_warning(path: str, reason: str, counts: Counter[str]) -> FieldError:
    """A warning with counts by word: `ignored, so not recorded: exposure 1, test 3`."""
    listed = ", ".join(f"{word} {number}" for word, number in sorted(counts.items()))
    return FieldError(path, f"{reason}, so not recorded: {listed}")
