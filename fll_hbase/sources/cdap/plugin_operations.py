"""Operations that the properties of CDAP's own plugins imply, for stages that declare none.

The properties are in the syntax of the plugins' documentation (https://github.com/cdapio/hydrator-plugins).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Influence
from fll_hbase.sources.cdap.plugin_properties import NotImplied, Properties, check_size, expression_names
from fll_hbase.sources.cdap.stage_operations import StageInput, StageOperation
from fll_hbase.sources.cdap.wrangler_recipe import recipe_operations

_AGGREGATE = re.compile(r"([^:,()]+):(\w+)\(([^(),]*)\)(?::condition\((.+)\))?")
_BRACKET_OR_COMMA = re.compile(r"[(),]")
_QUALIFIED = re.compile(r"`([^`]+)`\.`?(\w+)`?|(?<![\w.`])(\w+)\.`?(\w+)`?")

PASSING_PLUGINS = {
    *("CloneRecord", "DataCacher", "Deduplicate", "Distinct", "NullFieldSplitter", "RecordDuplicator"),
    *("Sampling", "ScriptFilter", "UnionSplitter", "Validator"),
}
"""Plugins whose output has the fields of their input, unless a property says otherwise."""


def implied_operations(plugin: str, properties: Mapping[str, str], path: str) -> tuple[StageOperation, ...]:
    """Return the operations of a stage at a JSON path; () for an unknown plugin or without properties.

    Raises NotImplied for properties that cannot be read, or whose effect depends on data.
    """
    # The effect of a plugin without any of its properties is unknown.
    if plugin not in _PLUGINS or not any(properties.values()):
        return ()
    read, _ = _PLUGINS[plugin]
    return tuple(read(Properties(properties, path)))


def _projection(properties: Properties) -> Iterator[StageOperation]:
    """Drop or keep, then convert, then rename, as the plugin does. Raises NotImplied for swapped names."""
    renames = properties.pairs("rename")
    if {old for old, _ in renames} & {new for _, new in renames}:
        raise NotImplied("`rename` exchanges names")
    yield from map(properties.drop, properties.names("drop"))
    if retained := properties.names("keep"):
        yield properties.keep(retained)
    for name, type_name in properties.pairs("convert"):
        yield properties.in_place("convert", name, type_name)
    for old, new in renames:
        yield properties.rename(old, new)


def _joiner(properties: Properties) -> Iterator[StageOperation]:
    """Yield one operation for each selected field; the join keys influence all. Raises NotImplied."""
    selected = [_selected_field(item) for item in properties.names("selectedFields")]
    stages = {source.partition(".")[0] for source, _ in selected}
    keys = [StageInput(key, Influence.INDIRECT, "join") for key in _join_keys(properties, stages)]
    if not selected or not keys:
        raise NotImplied("without `selectedFields` and `joinKeys`")
    check_size(len(selected) * len(keys))
    for source, name in selected:
        yield properties.transform("join", [StageInput(source), *keys], [Field(name)])
    yield properties.keep([name for _, name in selected])


def _selected_field(item: str) -> tuple[str, str]:
    """Return the source and the output name of `stage.field as name`. Raises NotImplied."""
    words = item.rsplit(None, 2)
    has_alias = len(words) == 3 and words[1].lower() == "as"
    source = words[0] if has_alias else item
    if "." not in source:
        raise NotImplied(f"{item[:100]!r} in `selectedFields` must be `stage.field` or `stage.field as name`")
    return source, words[2] if has_alias else source.rpartition(".")[2]


def _join_keys(properties: Properties, stages: set[str]) -> list[str]:
    """Return the fields of the keys, or of an advanced join's expression, each once."""
    keys = [key.strip() for key in re.split(r"[=&]", properties.text("joinKeys"))]
    if properties.text("conditionType").lower() != "advanced":
        return [key for key in dict.fromkeys(keys) if key]
    aliases = {alias: stage for stage, alias in properties.pairs("inputAliases")}
    fields: dict[str, None] = {}
    for match in _QUALIFIED.finditer(properties.text("conditionExpression")):
        stage, name = match[1] or match[3], match[2] or match[4]
        if aliases.get(stage, stage) in stages:
            fields[f"{aliases.get(stage, stage)}.{name}"] = None
    return list(fields)


def _group_by(properties: Properties) -> Iterator[StageOperation]:
    """Yield one operation for each aggregate, then keep outputs and grouping fields. Raises NotImplied."""
    group_fields = properties.names("groupByFields")
    aggregates = [
        _AGGREGATE.fullmatch(item) for item in _split_outside_brackets(properties.text("aggregates"))
    ]
    if not aggregates or not all(aggregates):
        raise NotImplied("`aggregates` is not `name:function(field)`, separated by commas")
    keys = [StageInput(name, Influence.INDIRECT, "group_by") for name in group_fields]
    check_size(len(aggregates) * len(keys))
    produced: set[str] = set()
    for match in filter(None, aggregates):
        name, function, argument = (match[number].strip() for number in (1, 2, 3))
        if argument in produced:
            raise NotImplied(
                f"the aggregate {argument[:100]!r} has the name of a field that another one uses"
            )
        produced.add(name)
        values = [StageInput(argument)] if argument not in ("", "*") else []
        conditions = [
            StageInput(used, Influence.INDIRECT, "conditional", is_optional=True)
            for used in expression_names(match[4] or "")
        ]
        yield properties.transform(function, [*values, *conditions, *keys], [Field(name)])
    yield properties.keep([*group_fields, *produced])


def _split_outside_brackets(text: str) -> list[str]:
    """Return the non-empty items, stripped of white space, between commas outside parentheses."""
    items, depth, start = [], 0, 0
    for match in _BRACKET_OR_COMMA.finditer(text):
        depth += (match[0] == "(") - (match[0] == ")")
        if match[0] == "," and depth <= 0:
            items.append(text[start : match.start()])
            start = match.end()
    return [item.strip() for item in (*items, text[start:]) if item.strip()]


def _distinct(properties: Properties) -> Iterator[StageOperation]:
    """Keep the fields listed in the property `fields`, and drop all others."""
    yield properties.keep(properties.names("fields"))


def _denormalize(properties: Properties) -> Iterator[StageOperation]:
    """Yield one operation for each output, which is the value of the row with its name. Raises NotImplied."""
    key = properties.text("keyField")
    name = properties.text("nameField") or properties.text("fieldName")
    value = properties.text("valueField") or properties.text("fieldValue")
    outputs, aliases = properties.names("outputFields"), dict(properties.pairs("fieldAliases"))
    if not (key and name and value and outputs):
        raise NotImplied("without the fields of keys, names and values")
    others = [
        StageInput(name, Influence.INDIRECT, "conditional"),
        StageInput(key, Influence.INDIRECT, "group_by"),
    ]
    aliased = [aliases.get(output, output) for output in outputs]
    if value in aliased or name in aliased:
        raise NotImplied("`outputFields` repeats the name of a source field")
    for output in aliased:
        yield properties.transform("denormalize", [StageInput(value), *others], [Field(output)])
    yield properties.keep([key, *aliased])


def _normalize(properties: Properties) -> Iterator[StageOperation]:
    """Yield an operation for each renamed field, and for names and values that become rows; keep the outputs.

    Raises NotImplied if an output has the name of another input.
    """
    mapped = properties.pairs("fieldMapping")
    normalized = properties.tuples("fieldNormalizing", length=3)
    outputs = [new for _, new in mapped] + [name for _, *names in normalized for name in names]
    inputs = {old for old, _ in mapped} | {old for old, *_ in normalized}
    if inputs & {*outputs} - {old for old, new in mapped if old == new}:
        raise NotImplied("an output has the name of another input")
    for old, new in mapped:
        if old != new:
            yield properties.transform("map", [StageInput(old)], [Field(new)])
    values: dict[str, list[StageInput]] = {}
    for old, _, value in normalized:
        values.setdefault(value, []).append(StageInput(old))
    # The names of the columns become values, which come from no field.
    for name in dict.fromkeys(name for _, name, _ in normalized):
        yield properties.transform("normalize", [], [Field(name)])
    for name, sources in values.items():
        yield properties.transform("normalize", sources, [Field(name)])
    yield properties.keep(list(dict.fromkeys(outputs)))


def _parser(properties: Properties) -> Iterator[StageOperation]:
    """Yield the parsing of one field into schema fields missing from the input. Raises NotImplied."""
    field = properties.text("field") or properties.text("inputName")
    if not field:
        raise NotImplied("without the field that is parsed")
    yield properties.transform("parse", [StageInput(field)], [], open_prefix="")


def _xml_parser(properties: Properties) -> Iterator[StageOperation]:
    field, types = properties.text("input"), properties.pairs("fieldTypeMapping")
    if not field or not types:
        raise NotImplied("without `input` and `fieldTypeMapping`")
    outputs = [Field(name, type_name) for name, type_name in types]
    yield properties.transform("parse", [StageInput(field)], outputs)
    yield properties.keep([output.name for output in outputs])


def _xml_to_json(properties: Properties) -> Iterator[StageOperation]:
    """Yield the conversion of `inputField` to `outputField`. Raises NotImplied if either is missing."""
    source, target = properties.text("inputField"), properties.text("outputField")
    if not source or not target:
        raise NotImplied("without `inputField` and `outputField`")
    yield properties.transform("convert", [StageInput(source)], [Field(target)])


def _value_mapper(properties: Properties) -> Iterator[StageOperation]:
    """Yield the look-up of each field in a table, whose result replaces it. Raises NotImplied."""
    for source, _, target in properties.tuples("mapping", length=3):
        yield properties.transform("look up", [StageInput(source)], [Field(target)], drops=source != target)


def _error_collector(properties: Properties) -> Iterator[StageOperation]:
    """Yield an operation without inputs for each named field of the message, code and stage."""
    for name in filter(None, map(properties.text, properties.texts)):
        yield properties.transform("collect", [], [Field(name)])


def _in_place(properties: Properties) -> Iterator[StageOperation]:
    """Yield an operation that changes each field in a property such as `a:HEX,b:HEX`."""
    for name in properties.texts:
        for item in properties.names(name):
            yield properties.in_place(name, item.partition(":")[0].strip())


_PLUGINS: dict[str, tuple[Callable[[Properties], Iterator[StageOperation]], str]] = {
    "CSVParser": (_parser, "field"),
    "Compressor": (_in_place, "compressor"),
    "Decoder": (_in_place, "decode"),
    "Decompressor": (_in_place, "decompressor"),
    "Decryptor": (_in_place, "decryptFields"),
    "Distinct": (_distinct, "fields"),
    "Encoder": (_in_place, "encode"),
    "Encryptor": (_in_place, "encryptFields"),
    "ErrorCollector": (_error_collector, "messageField codeField stageField"),
    "GroupByAggregate": (_group_by, "groupByFields aggregates"),
    "Hasher": (_in_place, "fields"),
    "JSONParser": (_parser, "field"),
    "Joiner": (_joiner, "selectedFields joinKeys conditionType conditionExpression inputAliases"),
    "LogParser": (_parser, "inputName"),
    "Normalize": (_normalize, "fieldMapping fieldNormalizing"),
    "Projection": (_projection, "drop keep convert rename"),
    "RowDenormalizer": (
        _denormalize,
        "keyField nameField fieldName valueField fieldValue outputFields fieldAliases",
    ),
    "ValueMapper": (_value_mapper, "mapping"),
    "Wrangler": (recipe_operations, "directives field"),
    "XMLParser": (_xml_parser, "input fieldTypeMapping"),
    "XMLToJSON": (_xml_to_json, "inputField outputField"),
}

PROPERTIES = {plugin: tuple(names.split()) for plugin, (_, names) in _PLUGINS.items()}
"""The properties to read, by plugin."""
