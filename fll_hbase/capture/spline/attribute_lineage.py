"""Lineage of the attributes of a Spline plan: source fields of each written column and of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from fll_hbase.capture.resolver.expressions import MASKING, RANKS, TRANSPARENT
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    FILTER,
    GROUP_BY,
    JOIN,
    NO_LINEAGE,
    SORT,
    WINDOW,
    ColumnLineage,
    Direct,
    IndirectInput,
    influences,
    merge,
    source_column,
)
from fll_hbase.capture.spline.spline_plan import SplinePlan
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.runtime.json_types import Json

Key: TypeAlias = tuple[str, str]
"""`__attrId` or `__exprId`, and the id."""

INPUTS_MAX = 1_000_000
"""Inputs of all attributes and expressions of one plan; stated in docs/record/moving-in.md."""

_ROW_PARAMS = {
    "Filter": (FILTER, "condition"),
    "Join": (JOIN, "condition"),
    "Sort": (SORT, "order"),
    "Aggregate": (GROUP_BY, "groupingExpressions"),
    "Deduplicate": (GROUP_BY, "keys"),
}
"""Parameters of operations that decide about rows, by the name of the operation."""

_GENERATED = frozenset(["LocalRelation", "OneRowRelation", "Range"])
"""Operations whose values the program itself contains."""
_SUBQUERIES = frozenset(["Exists", "InSubquery", "ListQuery", "ScalarSubquery"])
"""Expressions whose plan Spline leaves out."""


class AttributeResolver:
    """Resolves the attributes and expressions of a plan, each once.

    Datasets have their numbers in `names`. The lineage of an attribute is None if it is unknown.
    """

    def __init__(self, plan: SplinePlan) -> None:
        self._nodes = plan.nodes
        self.names = tuple(dict.fromkeys(name for _, read in plan.reads for name in read))
        numbers = {name: number for number, name in enumerate(self.names)}
        self._resolved: dict[Key, ColumnLineage | None] = {}
        self._inputs_left = INPUTS_MAX
        for operation, read in plan.reads:
            for identity in operation.output or ():
                name = self._nodes.get(("__attrId", identity), {}).get("name")
                if isinstance(name, str) and name:
                    fields = [source_column((numbers[item], name)) for item in read]
                    is_known = fields and not operation.has_query
                    self._resolved["__attrId", identity] = merge(fields) if is_known else None
        for operation in plan.others:
            if operation.name in _GENERATED:
                self._resolved |= {("__attrId", item): NO_LINEAGE for item in operation.output or ()}

    def resolve(self, key: Key) -> ColumnLineage | None:
        """Return the lineage of an attribute or expression. Raises UnreadableDocument for too many inputs."""
        # Not recursive, because a chain of attributes may be longer than the stack is deep.
        pending, opened = [key], set[Key]()
        while pending:
            current = pending[-1]
            if current in self._resolved:
                pending.pop()
                continue
            children = list(_references(self._nodes.get(current, {}).get("childRefs")))
            missing = [child for child in children if child not in self._resolved]
            if missing and current not in opened:
                opened.add(current)
                pending += missing
                continue
            pending.pop()
            # A child that is still missing is part of a cycle, so it is unknown.
            self._resolved[current] = self._combine(current, [self._resolved.get(item) for item in children])
        return self._resolved[key]

    def rows(self, plan: SplinePlan) -> frozenset[IndirectInput]:
        """Return the known fields that decide which rows are written, and in which order."""
        inputs: frozenset[IndirectInput] = frozenset()
        for operation in plan.others:
            kind, param = _ROW_PARAMS.get(operation.name, ("", ""))
            keys = _references(operation.params.get(param)) if kind else ()
            columns = [column for key in keys if (column := self.resolve(key)) is not None]
            inputs |= influences(columns, kind)
        return inputs

    def _combine(self, key: Key, children: Sequence[ColumnLineage | None]) -> ColumnLineage | None:
        """Return the lineage of a node by its kind and the lineage of its children."""
        node = self._nodes.get(key)
        operands = [child for child in children if child is not None]
        if node is None or len(operands) < len(children):
            return None
        self._inputs_left -= sum(len(child.direct) + len(child.indirect) for child in operands)
        if self._inputs_left < 0:
            raise UnreadableDocument([FieldError("expressions", f"have more than {INPUTS_MAX} inputs")])
        if key[0] == "__attrId":
            # Attributes of reads are resolved; any other one without an origin is unknown, as of an RDD.
            return merge(operands) if children else None
        return _function(node, operands)


def _function(node: Json, operands: list[ColumnLineage]) -> ColumnLineage | None:
    """Return the lineage of an expression; a constant has none, and a subquery is unknown."""
    extra = node.get("extra")
    kind = extra.get("simpleClassName") if isinstance(extra, dict) else None
    kind = kind if isinstance(kind, str) else ""
    if kind in _SUBQUERIES:
        return None
    if kind in RANKS:
        return NO_LINEAGE
    if kind in TRANSPARENT or (not kind and node.get("name") == "union"):
        return merge(operands)
    if kind in ("If", "CaseWhen"):
        # The children of CASE WHEN are pairs of condition and value, then the value of ELSE.
        count = 1 if kind == "If" else len(operands) // 2 * 2
        conditions = operands[0:count:2]
        values = [item for number, item in enumerate(operands) if number >= count or number % 2]
        return merge(values, indirect=influences(conditions, CONDITIONAL))
    if kind == "AggregateExpression":
        return merge(operands[:1], least=Direct.AGGREGATION, indirect=influences(operands[1:], FILTER))
    if kind == "WindowExpression":
        return merge(operands[:1], indirect=influences(operands[1:], WINDOW))
    least = Direct.IDENTITY if kind == "WindowSpecDefinition" else Direct.TRANSFORMATION
    return merge(operands, least=least, masked=kind in MASKING)


def _references(value: Any) -> Iterator[Key]:
    """Yield the keys of all references inside a JSON value, in order, each as often as it occurs."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += reversed(item)
        elif isinstance(item, dict):
            for name in ("__attrId", "__exprId"):
                if isinstance(item.get(name), str):
                    yield name, item[name]
            pending += reversed([part for part in item.values() if isinstance(part, (dict, list))])
