"""Resolved plans: the writes of one plan, with datasets as numbers, so that they can be reused."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from fll_hbase.capture.resolver.dump import Plan, decode_plan
from fll_hbase.capture.resolver.nodes import resolve_plan
from fll_hbase.capture.resolver.plan_lineage import NO_INPUTS, ColumnLineage, IndirectInput, Relation
from fll_hbase.capture.resolver.sql_text import sql_text
from fll_hbase.capture.resolver.writes import Write, columns_with_types, find_writes, root_columns

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """Writes of a plan. `texts` describes columns by row; `sources` are the datasets that are read.

    `types` are the columns of each dataset with their types.
    """

    writes: list[Write]
    texts: dict[int, str] = field(default_factory=dict)
    sources: frozenset[int] = frozenset()
    root_columns: list[ColumnLineage] = field(default_factory=list)
    root_rows: frozenset[IndirectInput] = NO_INPUTS
    types: dict[int, dict[str, str]] = field(default_factory=dict)
    is_stream: bool = False
    is_unknown: bool = False

    def sources_of(self, write: Write) -> frozenset[int]:
        """Return the datasets that a write reads, from its own lineage if the plan has several writes."""
        if len(self.writes) == 1:
            return self.sources
        inputs = {source[0] for _, column in write.columns for source in column.fields()}
        indirect = {source[0] for _, column in write.columns for source, _ in column.indirect}
        return frozenset(inputs | indirect | {source[0] for source, _ in write.rows})


def resolve(body: bytes) -> ResolvedPlan:
    """Return the writes of an encoded plan. Raises ValueError if it is not a plan.

    If the lineage cannot be resolved, a warning is logged, and the writes have no lineage and `is_unknown`.
    """
    plan = decode_plan(body)
    try:
        relations = resolve_plan(plan)
    except Exception as error:  # noqa: BLE001 (the write itself is recorded without it)
        _log.warning("capture: the lineage of a plan is unknown: %r", error)
        unknown = [Relation({}) for _ in plan.nodes]
        return ResolvedPlan(find_writes(plan, unknown), sources=_sources(plan), is_unknown=True)
    writes = find_writes(plan, relations)
    columns, rows = root_columns(plan, relations)
    described = {column.row for write in writes for _, column in write.columns if column.row >= 0}
    return ResolvedPlan(
        writes,
        {row: sql_text(plan.expressions, row) for row in described},
        _sources(plan),
        columns,
        rows,
        _types(plan),
        plan.nodes[-1].kind.startswith("WriteToMicroBatch"),
    )


def _sources(plan: Plan) -> frozenset[int]:
    """Return the datasets of leaves, except leaves that represent the table of a command."""
    tables = {number for node in plan.nodes for number in node.tables()}
    numbers = (
        node.members.get("dataset")
        for position, node in enumerate(plan.nodes)
        if position not in tables and not node.kind.startswith("Resolved")
    )
    return frozenset(number for number in numbers if isinstance(number, int))


def _types(plan: Plan) -> dict[int, dict[str, str]]:
    """Return column types of each dataset that nodes of the plan name, by its number."""
    datasets = ((node.members.get("dataset"), number) for number, node in enumerate(plan.nodes))
    return {
        dataset: columns_with_types(plan, number) for dataset, number in datasets if isinstance(dataset, int)
    }
