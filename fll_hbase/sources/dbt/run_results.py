"""Run results: start, state, message and code of each node that one invocation of dbt built."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fll_hbase.model.runs import State
from fll_hbase.sources.dbt.artifact import RUN_RESULTS, Artifact
from fll_hbase.sources.openlineage.json_access import list_items, members, text
from fll_hbase.sources.time_member import read_time_ms
from fll_hbase.sources.validation import Validator, child_path, items_with_path

_BUILDS_NOTHING = frozenset({"compile", "docs", "generate", "list", "ls", "parse", "show"})
"""Commands that write run results but only compile; `docs generate` is called `generate` there."""

_STATES = {
    "success": State.COMPLETE,
    # Some batches of the model are written, so its lineage applies.
    "partial success": State.COMPLETE,
    "error": State.FAIL,
    "fail": State.FAIL,
    "runtime error": State.FAIL,
}
"""State by status. Nodes with any other status, such as `skipped`, built nothing."""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """Result of one node; `start_ms` is in ms since 1970, 0 if unknown; `code` is empty before dbt 1.7."""

    unique_id: str
    path: str
    state: State
    start_ms: int
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class RunResults:
    """Results of one invocation by unique id; `passed_over` counts nodes that built nothing, by status."""

    artifact: Artifact
    command: str
    results: dict[str, NodeResult]
    passed_over: Counter[str]

    @property
    def builds(self) -> bool:
        """Whether the command builds nodes."""
        return self.command not in _BUILDS_NOTHING


def read_run_results(validator: Validator, artifact: Artifact, types: tuple[str, ...]) -> RunResults:
    """Parse the results of nodes of `types`; errors go to `validator`.

    Those that built nothing, such as skipped ones, get no result, but are counted in `passed_over`.
    """
    args_path, path = child_path(RUN_RESULTS.member, "args"), child_path(RUN_RESULTS.member, "results")
    args = members(validator, artifact.data.get("args"), args_path, optional=True)
    items = validator.items(artifact.data, "results", RUN_RESULTS.member, required=artifact.is_object)
    results: dict[str, NodeResult] = {}
    passed_over: Counter[str] = Counter()
    for item, result_path in items_with_path(items, path):
        errors_before = validator.errors.count
        data = members(validator, item, result_path)
        unique_id, status = (validator.required(data, name, result_path) for name in ("unique_id", "status"))
        if validator.leave_out(result_path, errors_before=errors_before):
            continue
        # A unique id begins with the type, as in `test.shop.x`: tests and hooks have results, too.
        if unique_id.partition(".")[0] not in types:
            continue
        if status not in _STATES:
            passed_over[status] += 1
        elif unique_id in results:
            detail = f"{unique_id!r} has a result already: {results[unique_id].path}; left out"
            validator.warning(result_path, detail)
        else:
            results[unique_id] = _read_result(validator, data, result_path)
    return RunResults(artifact, text(validator, args, "which", args_path), results, passed_over)


def _read_result(validator: Validator, data: dict[str, Any], path: str) -> NodeResult:
    return NodeResult(
        unique_id=data["unique_id"],
        path=path,
        state=_STATES[data["status"]],
        start_ms=_start_ms(validator, data, path),
        message=text(validator, data, "message", path),
        code=text(validator, data, "compiled_code", path),
    )


def _start_ms(validator: Validator, data: dict[str, Any], path: str) -> int:
    """Return the start of the execution, else of the compilation, in ms since 1970; 0 if there is neither."""
    starts: dict[str, int] = {}
    for number, item in enumerate(list_items(validator, data, "timing", path)):
        timing_path = child_path(path, f"timing.{number}")
        errors_before = validator.errors.count
        timing = members(validator, item, timing_path, optional=True)
        if timing.get("started_at") is not None:
            name = text(validator, timing, "name", timing_path)
            start_ms = read_time_ms(validator, timing, "started_at", timing_path)
            if not validator.leave_out(timing_path, errors_before=errors_before):
                starts[name] = start_ms
    return starts.get("execute") or starts.get("compile") or 0
