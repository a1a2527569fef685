"""Writes of a plan: which dataset each command changes, and the lineage of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fll_hbase.capture.resolver import delta
from fll_hbase.capture.resolver.dump import QUERIES, Node, Plan
from fll_hbase.capture.resolver.lineage import NO_INPUTS, ColumnLineage, IndirectInput, Relation

_TABLES = ("originalTable", "table", "logicalRelation", "relation", "name", "targetPlan", "child")
_BY_NAME = frozenset({"ReplaceData", "WriteDelta"})
"""Commands whose query has more columns than the table, so that they are matched by name."""

_LIFECYCLES = {
    "AlterTableRenameCommand": "RENAME",
    "DropTable": "DROP",
    "DropTableCommand": "DROP",
    "RenameTable": "RENAME",
    "TruncateTable": "TRUNCATE",
    "TruncateTableCommand": "TRUNCATE",
}


@dataclass(frozen=True, slots=True)
class Write:
    """A change of a dataset: of its content, or of its life cycle; `renamed` is the row with its new name."""

    target: int
    columns: tuple[tuple[str, ColumnLineage], ...] = ()
    rows: frozenset[IndirectInput] = NO_INPUTS
    lifecycle: str = ""
    is_create: bool = False
    renamed: int | None = None


def find_writes(plan: Plan, relations: Sequence[Relation]) -> list[Write]:
    """Return the writes of a plan in the order of its nodes."""
    return [write for node in plan.nodes for write in _writes_of(plan, relations, node)]


def root_columns(
    plan: Plan, relations: Sequence[Relation]
) -> tuple[list[ColumnLineage], frozenset[IndirectInput]]:
    """Return the columns by position of a checkpoint or a batch, and what influences its rows."""
    root = plan.nodes[-1]
    query = root.plan(*QUERIES)
    number = root.children[-1] if query is None and root.children and not root.rows("output") else query
    relation = relations[-1 if number is None else number]
    return relation.by_position(), relation.rows


def _writes_of(plan: Plan, relations: Sequence[Relation], node: Node) -> Iterator[Write]:
    table = node.plan(*_TABLES)
    dataset = None if table is None else plan.nodes[table].members.get("dataset")
    target = node.members.get("target") if dataset is None else dataset
    query = node.plan(*QUERIES)
    if not isinstance(target, int):
        return
    if node.kind in _LIFECYCLES:
        renamed = node.members.get("target")
        yield Write(target, lifecycle=_LIFECYCLES[node.kind], renamed=renamed if renamed != target else None)
    elif node.kind in delta.COMMANDS:
        columns, rows = delta.columns_of(plan, relations, node)
        yield Write(target, columns, rows)
    elif query is not None:
        relation = relations[query]
        columns = tuple(_columns(plan, node, relation, query, table))
        yield Write(
            target,
            columns,
            relation.rows,
            is_create="AsSelect" in node.kind or node.kind.startswith("SaveAs"),
        )


def _columns(
    plan: Plan, node: Node, relation: Relation, query: int, table: int | None
) -> Iterator[tuple[str, ColumnLineage]]:
    """Yield the columns of the table with their lineage: by position, but of a rewritten table by name."""
    names = _names(plan, plan.nodes[query].rows("output"))
    values = relation.by_position()
    declared = node.members.get("outputColumnNames") or []
    stored = _names(plan, plan.nodes[table].rows("output")) if table is not None else []
    if node.kind in _BY_NAME:
        by_name = dict(reversed(list(zip(names, values, strict=False))))
        yield from ((name, by_name[name]) for name in stored if name in by_name)
        return
    final = next((columns for columns in (declared, stored) if len(columns) == len(values)), names)
    yield from zip(final, values, strict=False)


def _names(plan: Plan, rows: Sequence[int]) -> list[str]:
    return [plan.expressions[row].name or "" for row in rows]
