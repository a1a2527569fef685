"""Resolved plans: the datasets that commands change, with the lineage of their columns.

Datasets are numbers, so that a resolved plan can be reused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fll_hbase.capture.resolver import row_commands
from fll_hbase.capture.resolver.dump import QUERIES, Node, Plan, decode_plan
from fll_hbase.capture.resolver.nodes import resolve_plan
from fll_hbase.capture.resolver.plan_lineage import (
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    IndirectInput,
    Relation,
)
from fll_hbase.capture.resolver.sql_text import sql_text
from fll_hbase.capture.resolver.table_changes import (
    LIFECYCLES,
    TRUNCATE,
    changed_columns,
    listed_columns,
    write_lifecycle,
)

_log = logging.getLogger(__name__)

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
        sources = {source for _, column in write.columns for source in column.sources()}
        return frozenset(dataset for dataset, _ in sources.union(source for source, _ in write.rows))


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
        return ResolvedPlan(_find_writes(plan, unknown), sources=_sources(plan), is_unknown=True)
    writes = _find_writes(plan, relations)
    columns, rows = _root_columns(plan, relations)
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
        dataset: _columns_with_types(plan, number) for dataset, number in datasets if isinstance(dataset, int)
    }


def _find_writes(plan: Plan, relations: Sequence[Relation]) -> list[Write]:
    """Return the writes of a plan in the order of its nodes."""
    return [write for node in plan.nodes for write in _writes_of(plan, relations, node)]


def _root_columns(
    plan: Plan, relations: Sequence[Relation]
) -> tuple[list[ColumnLineage], frozenset[IndirectInput]]:
    """Return the columns, by position, that the last node writes, and the influences on its rows.

    They are the columns of its query, else of its last child if it has no output, else its own.
    """
    root = plan.nodes[-1]
    query = root.plan(*QUERIES)
    number = root.children[-1] if query is None and root.children and not root.rows("output") else query
    relation = relations[-1 if number is None else number]
    return relation.by_position(), relation.rows


def _writes_of(plan: Plan, relations: Sequence[Relation], node: Node) -> Iterator[Write]:
    """Yield the write of a node, or nothing unless it is a command with a known target."""
    table = node.plan(*_TABLES)
    dataset = None if table is None else _without_alias(plan, table).members.get("dataset")
    is_known = node.kind in _BY_TARGET and isinstance(node.members.get("target"), int)
    target = node.members.get("target") if dataset is None or is_known else dataset
    query = node.plan(*QUERIES)
    if not isinstance(target, int):
        return
    removes_all = node.kind in row_commands.DELETES and not row_commands.has_condition(plan, [node])
    if (node.kind in LIFECYCLES and query is None) or removes_all:
        yield _table_change(plan, node, target)
    elif node.kind in row_commands.COMMANDS:
        columns, rows = row_commands.command_columns(plan, relations, node)
        yield Write(target, columns, _columns_with_types(plan, node.plan(*row_commands.TARGETS)), rows)
    elif node.kind in row_commands.QUERY_COMMANDS and query is not None and table is not None:
        columns, rows = row_commands.query_columns(plan, relations, node, table=table, query=query)
        yield Write(target, columns, _columns_with_types(plan, table), rows)
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


def _table_change(plan: Plan, node: Node, target: int) -> Write:
    """Return the change of a command without a query: its lifecycle, columns and renamed columns."""
    renamed = node.members.get("target")
    stored = _columns_with_types(plan, node.children[0]) if node.children else {}
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
    names = [] if query is None else plan.names(plan.nodes[query].rows("output"))
    values = relation.by_position()
    declared = node.members.get("outputColumnNames") or []
    # A batch of a stream has the columns of its query, whatever columns the topic's table has.
    table = None if node.kind == "WriteToMicroBatchDataSource" else table
    listed = stored = [] if table is None else plan.names(plan.nodes[table].rows("output"))
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
    stored = _columns_with_types(plan, table) if len(types) < len(names) else {}
    return types | {name: stored[name] for name in names if name in stored and name not in types}


def _columns_with_types(plan: Plan, number: int | None) -> dict[str, str]:
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
