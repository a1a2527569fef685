"""Run results: start, state, message and code of each node that one invocation of dbt built."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fll_hbase.model.runs import State
from fll_hbase.sources.dbt.artifact import Artifact
from fll_hbase.sources.time_member import read_time_ms
from fll_hbase.sources.validation import Part

BUILDS_NOTHING = frozenset({"compile", "docs", "generate", "list", "ls", "parse", "show"})
"""Commands that write run results but only compile; the name of `docs generate` there is `generate`."""

_STATES = {
    "success": State.COMPLETE,
    # Some batches of the model were written, so its lineage applies.
    "partial success": State.COMPLETE,
    "error": State.FAIL,
    "fail": State.FAIL,
    "runtime error": State.FAIL,
}
"""State by status. Nodes with any other status, such as `skipped`, built nothing."""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """Result of one node. `start_ms` is in ms since 1970, 0 if unknown. `code` is empty before dbt 1.7."""

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


def read_run_results(artifact: Artifact, types: tuple[str, ...]) -> RunResults:
    """Parse the results of nodes of `types`, leaving out unreadable results.

    Nodes that built nothing, such as skipped nodes, have no result but are counted in `passed_over`.
    """
    data = artifact.data
    args = data.optional_object("args")
    results: dict[str, NodeResult] = {}
    passed_over: Counter[str] = Counter()
    for item in data.items("results", required=data.is_object):
        key = item.readable(lambda part: (part.as_object().required("unique_id"), part.required("status")))
        # A unique id such as `test.shop.x` begins with the type; tests and hooks have results, too.
        if key is None or key[0].partition(".")[0] not in types:
            continue
        unique_id, status = key
        if status not in _STATES:
            passed_over[status] += 1
        elif unique_id in results:
            item.warning(f"{unique_id!r} has a result already: {results[unique_id].path}; left out")
        else:
            results[unique_id] = NodeResult(
                unique_id=unique_id,
                path=item.path,
                state=_STATES[status],
                start_ms=_start_ms(item),
                message=item.text("message"),
                code=item.text("compiled_code"),
            )
    return RunResults(artifact, args.text("which"), results, passed_over)


def _start_ms(result: Part) -> int:
    """Return the start of the execution, else of the compilation, in ms since 1970; 0 if both are missing."""
    starts: dict[str, int] = {}
    for timing in result.optional_items("timing"):
        if timing.as_optional_object().get("started_at") is not None:
            name = timing.text("name")
            start_ms = timing.readable(lambda part: read_time_ms(part, "started_at"))
            if start_ms is not None:
                starts[name] = start_ms
    return starts.get("execute") or starts.get("compile") or 0
