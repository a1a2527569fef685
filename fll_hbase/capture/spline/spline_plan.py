"""Execution plans as Spline's producer API has them (versions 1.1 and 1.2), and the datasets they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fll_hbase.capture.resolver.dataset_names import DatasetName, dataset_names
from fll_hbase.model.dataset_spelling import path_name
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources.validation import Part

_OPAQUE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?!/)(.+)", re.DOTALL)
"""A URI without a path, such as `cassandra:keyspace:table`."""
_QUERY = ":("
"""Separates the URL of a database from a query."""

SERVERS = "kafka.bootstrap.servers"


@dataclass(frozen=True)
class Operation:
    """One operation. `output` are ids of attributes, or None if they are unknown.

    An operation with `has_query` reads the result of a query, whose columns are not those of its tables.
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

    `nodes` are attributes and expressions by ("__attrId" or "__exprId", id). `types` are names of data types
    by id.
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
    """Read a plan. Adds errors for parts without which nothing can be recorded, such as the output."""
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
    """Return the datasets of a URI as the OpenLineage agent names them, none for an unreadable query.

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
    """Yield attributes, functions and constants with their keys."""
    expressions = part.optional_object("expressions")
    lists = ((part, "attributes"), (expressions, "functions"), (expressions, "constants"))
    for holder, name in lists:
        key = "__attrId" if name == "attributes" else "__exprId"
        for item in holder.optional_items(name):
            if isinstance(item.get("id"), str):
                yield (key, item.members["id"]), item.members
