"""Operations that the properties of CDAP's own plugins imply, for stages that declare none.

The properties are those of the plugins Projection, Joiner, GroupByAggregate and Wrangler, in the syntax of
their documentation (https://github.com/cdapio/hydrator-plugins, https://github.com/data-integrations/wrangler).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Influence
from fll_hbase.sources.cdap.stage_operations import DELETE, KEEP, RENAME, Kind, StageInput, StageOperation

JOINED_INPUTS_MAX = 50_000
"""Fields times keys of a join, or aggregates times group fields; a short config could imply very many."""

_AGGREGATE = re.compile(r"([^:,()]+):(\w+)\(([^(),]*)\)")
_SELECTED = re.compile(r"(.+?)(?:\s+as\s+(\S+))?", re.IGNORECASE)
_IN_PLACE = (
    *("uppercase", "lowercase", "titlecase", "trim", "ltrim", "rtrim", "fill-null-or-empty"),
    *("find-and-replace", "mask-number", "mask-shuffle", "format-date", "format-datetime"),
    *("format-unix-timestamp", "parse-as-simple-date", "parse-as-date", "parse-as-datetime"),
    *("parse-timestamp", "set-charset", "set-type", "url-encode", "url-decode"),
)
"""Directives of Wrangler that change one column."""


class NotImplied(Exception):
    """Properties whose effect on fields is not known; the message says which."""


def implied_operations(plugin: str, properties: Mapping[str, str], path: str) -> tuple[StageOperation, ...]:
    """Return the operations of a stage at a JSON path; none for a plugin that is not one of CDAP's.

    Raises NotImplied for properties that cannot be read, or whose effect depends on data.
    """
    # A plugin without any of its properties does nothing that is known.
    if plugin not in _PLUGINS or not any(properties.values()):
        return ()
    return tuple(_PLUGINS[plugin](_Properties(properties, path)))


class _Properties:
    """Properties of a plugin, and the operations that they make."""

    def __init__(self, properties: Mapping[str, str], path: str) -> None:
        self._properties = properties
        self._path = path

    def text(self, name: str) -> str:
        return self._properties.get(name, "").strip()

    def names(self, name: str) -> list[str]:
        return [item.strip() for item in self.text(name).split(",") if item.strip()]

    def pairs(self, name: str) -> list[tuple[str, str]]:
        pairs = []
        for item in self.names(name):
            first, colon, second = (part.strip() for part in item.partition(":"))
            if not (first and colon and second) or ":" in second:
                raise NotImplied(f"{item[:100]!r} in `{name}` is no pair such as `a:b`")
            pairs.append((first, second))
        return pairs

    def transform(
        self, name: str, inputs: Sequence[StageInput], outputs: Sequence[Field], *, drops: bool = False
    ) -> StageOperation:
        dropped = tuple(item.name for item in inputs) if drops else ()
        return StageOperation(
            Kind.TRANSFORM,
            name,
            "",
            self._path,
            tuple(inputs),
            tuple(outputs),
            dropped,
            has_unique_name=False,
        )

    def drop(self, name: str) -> StageOperation:
        return self.transform(DELETE, [StageInput(name)], [], drops=True)

    def rename(self, old: str, new: str) -> StageOperation:
        return self.transform(RENAME, [StageInput(old)], [Field(new)], drops=True)

    def keep(self, names: Sequence[str]) -> StageOperation:
        return StageOperation(
            Kind.TRANSFORM, KEEP, "", self._path, retained=tuple(names), has_unique_name=False
        )


def _projection(properties: _Properties) -> Iterator[StageOperation]:
    """Drop or keep, then convert, then rename, as the plugin does."""
    renames = properties.pairs("rename")
    if {old for old, _ in renames} & {new for _, new in renames}:
        raise NotImplied("`rename` exchanges names")
    yield from map(properties.drop, properties.names("drop"))
    if retained := properties.names("keep"):
        yield properties.keep(retained)
    for name, type_name in properties.pairs("convert"):
        yield properties.transform("convert", [StageInput(name)], [Field(name, type_name)])
    for old, new in renames:
        yield properties.rename(old, new)


def _joiner(properties: _Properties) -> Iterator[StageOperation]:
    """Yield one operation for each selected field; the keys decide which rows there are."""
    selected = properties.names("selectedFields")
    if not selected or not properties.text("joinKeys"):
        raise NotImplied("without `selectedFields` and `joinKeys`")
    key_fields = [key.strip() for key in re.split(r"[=&]", properties.text("joinKeys"))]
    keys = [StageInput(key, Influence.INDIRECT, "join") for key in dict.fromkeys(key_fields) if key]
    _check_size(len(selected) * len(keys))
    names = []
    for item in selected:
        match = _SELECTED.fullmatch(item)
        if match is None or "." not in match[1]:
            raise NotImplied(
                f"{item[:100]!r} in `selectedFields` is no `stage.field` or `stage.field as name`"
            )
        name = match[2] or match[1].rpartition(".")[2]
        names.append(name)
        yield properties.transform("join", [StageInput(match[1]), *keys], [Field(name)])
    yield properties.keep(names)


def _group_by(properties: _Properties) -> Iterator[StageOperation]:
    """Yield one operation for each aggregate; of the other fields, those that are grouped by are retained."""
    group_fields = properties.names("groupByFields")
    aggregates = [_AGGREGATE.fullmatch(item) for item in properties.names("aggregates")]
    if not aggregates or not all(aggregates):
        raise NotImplied("`aggregates` is not `name:function(field)`, separated by commas")
    keys = [StageInput(name, Influence.INDIRECT, "group_by") for name in group_fields]
    _check_size(len(aggregates) * len(keys))
    produced: set[str] = set()
    for match in aggregates:
        name, function, argument = (match[number].strip() for number in (1, 2, 3)) if match else ("", "", "")
        if argument in produced:
            raise NotImplied(
                f"the aggregate {argument[:100]!r} has the name of a field that another one uses"
            )
        produced.add(name)
        values = [StageInput(argument)] if argument not in ("", "*") else []
        yield properties.transform(function, [*values, *keys], [Field(name)])
    yield properties.keep([*group_fields, *produced])


def _wrangler(properties: _Properties) -> Iterator[StageOperation]:
    """Yield one operation for each directive, in order."""
    if properties.text("precondition") not in ("", "false"):
        raise NotImplied("with a `precondition`")
    lines = re.split(r"[\n;]", properties.text("directives"))
    directives = [line.split(None, 1) for line in map(str.strip, lines) if line and line[0] not in "#/"]
    if not directives:
        raise NotImplied("without `directives`")
    for verb, *rest in directives:
        words = re.split(r"[\s,]+", rest[0] if rest else "")
        yield from _directive(properties, verb, [word.removeprefix(":") for word in words if word])


def _directive(properties: _Properties, verb: str, columns: list[str]) -> Iterator[StageOperation]:
    """Yield the operations of one directive; `columns` are its arguments, columns and others."""
    match verb:
        case "drop" if columns:
            yield from map(properties.drop, columns)
        case "keep" if columns:
            yield properties.keep(columns)
        case "rename" if len(columns) == 2:
            yield properties.rename(*columns)
        case "copy" if len(columns) in (2, 3):
            yield properties.transform(verb, [StageInput(columns[0])], [Field(columns[1])])
        case "merge" if len(columns) >= 3:
            yield properties.transform(verb, list(map(StageInput, columns[:2])), [Field(columns[2])])
        case _ if verb in _IN_PLACE and columns:
            type_name = columns[1] if verb == "set-type" and len(columns) > 1 else ""
            yield properties.transform(verb, [StageInput(columns[0])], [Field(columns[0], type_name)])
        case _:
            raise NotImplied(f"the directive {verb[:100]!r} is not known to keep or name its fields")


def _check_size(inputs: int) -> None:
    if inputs > JOINED_INPUTS_MAX:
        raise NotImplied(f"more than {JOINED_INPUTS_MAX:,} inputs")


PROPERTIES = {
    "Projection": ("drop", "keep", "convert", "rename"),
    "Joiner": ("selectedFields", "joinKeys"),
    "GroupByAggregate": ("groupByFields", "aggregates"),
    "Wrangler": ("directives", "precondition"),
}
"""The properties that are read, by plugin."""

_PLUGINS: dict[str, Callable[[_Properties], Iterator[StageOperation]]] = {
    "Projection": _projection,
    "Joiner": _joiner,
    "GroupByAggregate": _group_by,
    "Wrangler": _wrangler,
}
