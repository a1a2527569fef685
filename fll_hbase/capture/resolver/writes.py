"""Writes of a plan: the dataset that each command changes, and the lineage of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fll_hbase.capture.resolver import delta, row_changes
from fll_hbase.capture.resolver.dump import QUERIES, Node, Plan
from fll_hbase.capture.resolver.plan_lineage import (
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    IndirectInput,
    Relation,
)
from fll_hbase.capture.resolver.table_changes import (
    LIFECYCLES,
    TRUNCATE,
    changed_columns,
    listed_columns,
    write_lifecycle,
)

_TABLES = ("originalTable", "table", "logicalRelation", "relation", "name", "targetPlan", "child")

_BY_TARGET = frozenset(
    [
        "CreateTable",
        "CreateTableAsSelect",
        "ReplaceTable",
        "ReplaceTableAsSelect",
        "WriteToMicroBatchDataSource",
    ]
)
"""Commands that know the location or topic themselves, while their table has only a name."""

_V2_WRITES = frozenset(["AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"])
"""Commands that write NULL or a default into columns missing from their query."""


@dataclass(frozen=True, slots=True)
class Write:
    """A change of a dataset: of its content or, with `is_table_change`, of the table itself.

    `types` are the known types of the columns after the change. `renamed` is the row with the new name of the
    table. `renamed_columns` are pairs of the new and the former name of a column.
    """

    target: int
    columns: tuple[tuple[str, ColumnLineage], ...] = ()
    types: dict[str, str] = field(default_factory=dict)
    rows: frozenset[IndirectInput] = NO_INPUTS
    lifecycle: str = ""
    is_create: bool = False
    is_table_change: bool = False
    renamed: int | None = None
    renamed_columns: tuple[tuple[str, str], ...] = ()


def find_writes(plan: Plan, relations: Sequence[Relation]) -> list[Write]:
    """Return the writes of a plan in the order of its nodes."""
    return [write for node in plan.nodes for write in _writes_of(plan, relations, node)]


def root_columns(
    plan: Plan, relations: Sequence[Relation]
) -> tuple[list[ColumnLineage], frozenset[IndirectInput]]:
    """Return the columns, by position, of a checkpoint or batch, and the influences on its rows."""
    root = plan.nodes[-1]
    query = root.plan(*QUERIES)
    number = root.children[-1] if query is None and root.children and not root.rows("output") else query
    relation = relations[-1 if number is None else number]
    return relation.by_position(), relation.rows


def _writes_of(plan: Plan, relations: Sequence[Relation], node: Node) -> Iterator[Write]:
    """Yield the write of a node, if it is a command with a known target."""
    table = node.plan(*_TABLES)
    dataset = None if table is None else _without_alias(plan, table).members.get("dataset")
    is_known = node.kind in _BY_TARGET and isinstance(node.members.get("target"), int)
    target = node.members.get("target") if dataset is None or is_known else dataset
    query = node.plan(*QUERIES)
    if not isinstance(target, int):
        return
    if (node.kind in LIFECYCLES and query is None) or _removes_all(plan, node):
        yield _table_change(plan, node, target)
    elif node.kind in delta.COMMANDS:
        columns, rows = delta.columns_of(plan, relations, node)
        yield Write(target, columns, columns_with_types(plan, node.plan(*delta.TARGETS)), rows)
    elif node.kind in row_changes.COMMANDS and query is not None and table is not None:
        columns, rows = row_changes.columns_of(plan, relations, node, table=table, query=query)
        yield Write(target, columns, columns_with_types(plan, table), rows)
    elif query is not None:
        relation = relations[query]
        columns = tuple(_columns(plan, node, relation, table))
        is_create = "AsSelect" in node.kind or node.kind.startswith("SaveAs")
        yield Write(
            target,
            columns,
            _written_types(plan, node, [name for name, _ in columns], table),
            relation.rows,
            lifecycle=write_lifecycle(node, is_create=is_create),
            is_create=is_create,
        )


def _removes_all(plan: Plan, node: Node) -> bool:
    """Return whether a node is a DELETE with a constant condition or without a condition."""
    return node.kind in delta.DELETES and not delta.has_condition(plan, node)


def _table_change(plan: Plan, node: Node, target: int) -> Write:
    """Return the change of a command without a query: its lifecycle, columns and renamed columns."""
    renamed = node.members.get("target")
    stored = columns_with_types(plan, node.children[0]) if node.children else {}
    columns, renamed_columns = listed_columns(node.members), dict[str, str]()
    if "changes" in node.members:
        columns, renamed_columns = changed_columns(node, stored)
    return Write(
        target,
        types=columns,
        lifecycle=LIFECYCLES.get(node.kind, TRUNCATE),
        is_table_change=True,
        renamed=renamed if renamed != target else None,
        renamed_columns=tuple(renamed_columns.items()),
    )


def _columns(
    plan: Plan, node: Node, relation: Relation, table: int | None
) -> Iterator[tuple[str, ColumnLineage]]:
    """Yield the written columns, named by the table or else the query, then fixed and other columns."""
    query = node.plan(*QUERIES)
    names = [] if query is None else _names(plan, plan.nodes[query].rows("output"))
    values = relation.by_position()
    declared = node.members.get("outputColumnNames") or []
    # A batch of a stream has the columns of its query, whatever columns the topic's table has.
    table = None if node.kind == "WriteToMicroBatchDataSource" else table
    listed = stored = [] if table is None else _names(plan, plan.nodes[table].rows("output"))
    if node.members.get("byName"):
        # A table that accepts any columns, such as Delta's, orders them itself.
        spelling = {name.lower(): name for name in stored}
        stored = [spelling.get(name.lower(), name) for name in names]
    final = next((columns for columns in (declared, stored) if len(columns) == len(values)), names)
    yield from zip(final, values, strict=False)
    # Columns missing from the query, which get constants or defaults.
    others = [*(node.members.get("fixed") or ()), *(listed if node.kind in _V2_WRITES else ())]
    yield from ((name, NO_LINEAGE) for name in others if name not in final)


def _written_types(plan: Plan, node: Node, names: Sequence[str], table: int | None) -> dict[str, str]:
    """Return the types of the written columns; columns missing from the query have the table's types."""
    types = dict(zip(names, node.types(), strict=False))
    stored = columns_with_types(plan, table) if len(types) < len(names) else {}
    return types | {name: stored[name] for name in names if name in stored and name not in types}


def columns_with_types(plan: Plan, number: int | None) -> dict[str, str]:
    """Return the types of a dataset's columns by name, {} for None and for nodes that read no dataset.

    Looks below aliases, and leaves out hidden columns and columns without a known type.
    """
    if number is None:
        return {}
    node = _without_alias(plan, number)
    columns = (plan.expressions[row] for row in node.rows("output"))
    return {
        column.name or "": type_
        for column, type_ in zip(columns, node.types(), strict=False)
        if not column.details.get("metadata")
    }


def _without_alias(plan: Plan, number: int) -> Node:
    """Return the node that is below the aliases of the given node."""
    node = plan.nodes[number]
    while node.kind == "SubqueryAlias" and node.children:
        node = plan.nodes[node.children[0]]
    return node


def _names(plan: Plan, rows: Sequence[int]) -> list[str]:
    """Return the names of the expressions in the rows, with "" for an expression without a name."""
    return [plan.expressions[row].name or "" for row in rows]
