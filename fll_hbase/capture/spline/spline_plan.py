"""Execution plans as Spline's producer API has them (versions 1.1 and 1.2), and the lineage of attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from fll_hbase.capture.resolver.dataset_names import DatasetName, dataset_names
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
from fll_hbase.model.dataset_spelling import path_name
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources.validation import Part

_OPAQUE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?!/)(.+)", re.DOTALL)
"""A URI without a path, such as `cassandra:keyspace:table`."""
_QUERY = ":("
"""Separates the URL of a database from a query."""

SERVERS = "kafka.bootstrap.servers"

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


@dataclass(frozen=True)
class Operation:
    """One operation. `output` are ids of attributes, or None if they are unknown.

    An operation with `has_query` reads the result of a query, which has other columns than its tables.
    """

    id: str
    name: str
    children: tuple[str, ...]
    output: tuple[str, ...] | None
    params: Json
    has_query: bool = False


@dataclass(frozen=True)
class SplinePlan:
    """A plan. `reads` has the datasets of each operation that reads.

    `nodes` are attributes and expressions by Key, `types` names of data types by id.
    """

    id: str
    name: str
    spark_version: str
    output: DatasetName
    write: Operation
    reads: tuple[tuple[Operation, tuple[DatasetName, ...]], ...]
    others: tuple[Operation, ...]
    nodes: dict[tuple[str, str], Json]
    types: dict[str, str]

    @cached_property
    def written(self) -> tuple[str, ...] | None:
        """The ids of the attributes that are written, in order, or None if they are unknown."""
        operations = {item.id: item for item in (*(read for read, _ in self.reads), *self.others)}
        child = operations.get(self.write.children[0]) if len(self.write.children) == 1 else None
        return None if child is None else child.output


def read_plan(part: Part) -> SplinePlan:
    """Read a plan; add errors to the validator for parts that every record needs, such as the output."""
    part.as_object()
    operations = part.member("operations", {}).as_object()
    write = operations.member("write").as_object()
    outputs = datasets(write.required("outputSource"), write.optional_object("params").members)
    if not outputs:
        write.error("names no dataset", "outputSource")
    extra = part.optional_object("extraInfo")
    types = {item.text("id"): item.text("name") for item in extra.optional_items("dataTypes")}
    return SplinePlan(
        id=part.required("id"),
        name=part.text("name") or extra.text("appName") or "unknown",
        spark_version=part.optional_object("systemInfo").text("version"),
        output=outputs[0] if outputs else DatasetName("?", "?"),
        write=_operation(write),
        reads=tuple((_operation(item), _sources(item)) for item in operations.optional_items("reads")),
        others=tuple(_operation(item) for item in operations.optional_items("other")),
        nodes=dict(_nodes(part)),
        types={identity: name for identity, name in types.items() if identity},
    )


def datasets(uri: str, params: Json) -> list[DatasetName]:
    """Return the datasets of a URI as the OpenLineage agent names them, [] for "" or an unreadable query.

    Kafka needs its servers in `params`. Otherwise the namespace is `kafka`.
    """
    if uri.startswith("jdbc:"):
        # A query has parentheses around it, and may contain colons. A name of a table has neither.
        url, separator, query = uri.partition(_QUERY)
        if separator:
            return dataset_names({"kind": "jdbc", "url": url, "query": f"({query}"})
        url, _, table = uri.rpartition(":")
        return dataset_names({"kind": "jdbc", "url": url, "name": table})
    opaque = _OPAQUE.fullmatch(uri)
    if opaque is None:
        return [DatasetName(*path_name(uri))] if uri else []
    scheme, name = opaque[1].lower(), opaque[2]
    if scheme == "kafka" and isinstance(servers := params.get(SERVERS), str) and servers:
        return dataset_names({"kind": "kafka", "topic": name, "servers": servers})
    return [DatasetName(scheme, name)]


def _operation(part: Part) -> Operation:
    """Read an operation; attributes of versions before 1.1 have no ids and are unknown."""
    output = part.get("output")
    return Operation(
        id=part.text("id"),
        name=part.text("name"),
        children=tuple(_texts(part, "childIds")),
        output=tuple(_texts(part, "output")) if isinstance(output, list) else None,
        params=part.optional_object("params").members,
        has_query=any(_QUERY in uri for uri in _texts(part, "inputSources") if uri.startswith("jdbc:")),
    )


def _sources(part: Part) -> tuple[DatasetName, ...]:
    """Return the datasets that an operation reads, each once."""
    params = part.optional_object("params").members
    names = (name for uri in _texts(part, "inputSources") for name in datasets(uri, params))
    return tuple(dict.fromkeys(names))


def _texts(part: Part, name: str) -> Iterator[str]:
    """Yield the texts of a list; warn of other items."""
    for item in part.optional_items(name):
        if isinstance(item.value, str):
            yield item.value
        else:
            item.warn_type("a string")


def _nodes(part: Part) -> Iterator[tuple[tuple[str, str], Json]]:
    """Yield attributes, functions and constants with their keys, without those that have no text as id."""
    expressions = part.optional_object("expressions")
    lists = ((part, "attributes"), (expressions, "functions"), (expressions, "constants"))
    for holder, name in lists:
        key = "__attrId" if name == "attributes" else "__exprId"
        for item in holder.optional_items(name):
            if isinstance(item.get("id"), str):
                yield (key, item.members["id"]), item.members


class AttributeResolver:
    """Resolves the attributes and expressions of a plan, each once.

    Datasets have their numbers in `names`. The lineage of an attribute is None if it is unknown. Methods
    raise UnreadableDocument for a plan with more than INPUTS_MAX inputs.
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
        """Return the lineage of an attribute or expression, None if unknown, as in a cycle."""
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
        """Return the lineage of a node by its kind and its children, or None if it or a child is unknown."""
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
