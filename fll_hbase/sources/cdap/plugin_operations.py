"""Operations that the properties of CDAP's own plugins imply, for stages that declare none.

The properties are in the syntax of the plugins' documentation (https://github.com/cdapio/hydrator-plugins).
Wrangler has recipes: each directive becomes operations on columns, in the syntax of
https://github.com/data-integrations/wrangler. Columns are written `:name` or, in older recipes, `name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap

from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Influence
from fll_hbase.runtime import deadline
from fll_hbase.sources.cdap.stage_operations import (
    DELETE,
    KEEP,
    Kind,
    NameChange,
    StageInput,
    StageOperation,
    rename_operation,
)

JOINED_INPUTS_MAX = 50_000
"""Fields times join keys, or aggregates times group fields; a short config could imply very many."""

QUOTED = r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)"""
"""Pattern of a quoted text. An unclosed quote extends to the end, so that a search is linear."""
_TEXTS = re.compile(QUOTED)
_NAMES = re.compile(r"(?<![\w.$])[A-Za-z_]\w*(?!\w)(?!\s*\(|:\w+\s*\()")
_RESERVED = {
    *("and", "break", "continue", "div", "do", "else", "empty", "eq", "false", "for", "foreach", "function"),
    *("ge", "gt", "if", "le", "lt", "mod", "ne", "new", "not", "null", "or", "return", "size", "true"),
    *("var", "while"),
}
_LOCAL = re.compile(r"\bvar\s+(\w+)")


NOT_KNOWN = "the operations of the stage are unknown"
"""Follows the reason in the warning about a stage whose properties are not understood."""
_AGGREGATE = re.compile(r"([^:,()]+):(\w+)\(([^(),]*)\)(?::condition\((.+)\))?")
_BRACKET_OR_COMMA = re.compile(r"[(),]")
_QUALIFIED = re.compile(r"`([^`]+)`\.`?(\w+)`?|(?<![\w.`])(\w+)\.`?(\w+)`?")

PASSING_PLUGINS = {
    *("CloneRecord", "DataCacher", "Deduplicate", "Distinct", "NullFieldSplitter", "RecordDuplicator"),
    *("Sampling", "ScriptFilter", "UnionSplitter", "Validator"),
}
"""Plugins whose output has the fields of their input, unless a property says otherwise."""

_IN_PLACE = {
    *("uppercase", "lowercase", "titlecase", "trim", "ltrim", "rtrim", "fill-null-or-empty", "hash"),
    *("find-and-replace", "mask-number", "mask-shuffle", "format-date", "format-datetime", "split-to-rows"),
    *("format-unix-timestamp", "parse-as-simple-date", "parse-as-datetime", "parse-timestamp"),
    *("set-charset", "set-type", "url-encode", "url-decode", "datetime-to-timestamp"),
    "timestamp-to-datetime",
}
"""Directives that change one column."""

_DERIVED = {
    **dict.fromkeys(("copy", "cut-character", "json-path", "quantize", "xpath", "xpath-array"), ((0,), 1)),
    **dict.fromkeys(("format-as-currency", "parse-as-currency"), ((0,), 1)),
    **dict.fromkeys(("current-datetime", "generate-uuid"), ((), 0)),
    **dict.fromkeys(("diff-date", "merge"), ((0, 1), 2)),
    **dict.fromkeys(("text-distance", "text-metric"), ((1, 2), 3)),
}
"""Positions of the columns that a directive reads, and of the column it makes."""

_SUFFIXES = {
    "parse-as-date": ("_1",),
    "split-email": ("_account", "_domain"),
    "split-url": ("_protocol", "_authority", "_host", "_port", "_path", "_filename", "_query"),
    "stemming-tokenize": ("_porter",),
}
"""Suffixes of the columns that a directive makes from one column."""

_NUMBERED = {
    *("parse-as-csv", "parse-as-json", "parse-as-fixed-length", "split-to-columns"),
    *("extract-regex-groups", "parse-as-hl7", "parse-as-xml", "parse-xml-to-json"),
    "table-lookup",
}
"""Directives that make columns whose names begin with the parsed column's name and `_`."""
_ANY_NAMES = {"parse-as-avro", "parse-as-avro-file", "parse-as-excel", "parse-as-log", "parse-as-protobuf"}
"""Directives that make columns with arbitrary names."""

_ROWS_ONLY = {
    *("fail", "filter-by-regex", "filter-empty-or-null", "filter-row", "filter-row-if-false"),
    *("filter-row-if-matched", "filter-row-if-not-matched", "filter-row-if-true", "filter-rows-on"),
    *("increment-variable", "send-to-error", "send-to-error-and-continue", "set-variable"),
}
"""Directives that change no column, but only rows or variables."""

_SEGMENT = re.compile(rf"{QUOTED}|[;{{}}]|[^;{{}}'\"]+")
_WORD = re.compile(rf"{QUOTED}|[^\s,]+")
_SED = re.compile(r"s(?P<bar>[/|#])(?P<old>\^?[\w .-]+\$?)(?P=bar)(?P<new>[\w -]*)(?P=bar)g?")


class NotImplied(Exception):
    """Properties with an unknown effect on fields; the message says which."""


class Properties:
    """Properties of a plugin at a JSON path of its stage; `texts` has their values, "" if missing."""

    def __init__(self, properties: Mapping[str, str], path: str) -> None:
        self.texts = properties
        self._path = path
        self._operation = partial(
            StageOperation, Kind.TRANSFORM, description="", path=path, has_unique_name=False
        )

    def text(self, name: str) -> str:
        """Return a property without surrounding blanks, or "" if it is missing."""
        return self.texts.get(name, "").strip()

    def names(self, name: str) -> list[str]:
        """Return the non-empty items, stripped of white space, of a comma-separated list; [] if missing."""
        return [item.strip() for item in self.text(name).split(",") if item.strip()]

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the items of a list such as `a:b,c:d`; [] if missing. Raises NotImplied for other items."""
        return [(first, second) for first, second in self.tuples(name, length=2)]

    def tuples(self, name: str, *, length: int) -> list[list[str]]:
        """Return the items of a list such as `a:b:c,d:e:f`, each split into `length` parts; [] if missing.

        Raises NotImplied for an item with another number of parts, or with an empty part.
        """
        items = [[part.strip() for part in item.split(":")] for item in self.names(name)]
        for item in items:
            if len(item) != length or not all(item):
                example = ":".join("abc"[:length])
                raise NotImplied(f"{':'.join(item)[:100]!r} in `{name}` is not an item such as `{example}`")
        return items

    def transform(
        self,
        name: str,
        inputs: Sequence[StageInput],
        outputs: Sequence[Field],
        *,
        drops: bool = False,
        open_prefix: str | None = None,
    ) -> StageOperation:
        """Return an operation. With `drops`, no later operation or stage receives its inputs."""
        dropped = tuple(item.name for item in inputs) if drops else ()
        return self._operation(
            name, inputs=tuple(inputs), outputs=tuple(outputs), dropped=dropped, open_prefix=open_prefix
        )

    def in_place(self, name: str, field: str, type_name: str = "") -> StageOperation:
        """Return an operation that changes the values of one field, with its new type or ""."""
        return self.transform(name, [StageInput(field)], [Field(field, type_name)])

    def drop(self, name: str) -> StageOperation:
        """Return an operation that drops a field."""
        return self.transform(DELETE, [StageInput(name)], [], drops=True)

    def rename(self, old: str, new: str) -> StageOperation:
        """Return an operation that renames a field."""
        return rename_operation(old, new, self._path)

    def keep(self, names: Sequence[str]) -> StageOperation:
        """Return an operation that drops all other fields."""
        return self._operation(KEEP, retained=tuple(names))

    def change_names(self, name: str, change: NameChange) -> StageOperation:
        """Return an operation named `name` that renames all fields by one rule."""
        return self._operation(name, name_change=change)


def expression_names(expression: str) -> Iterator[str]:
    """Yield the names in a JEXL expression that may be fields, not functions or variables, each once."""
    code = _TEXTS.sub("''", expression)
    excluded = _RESERVED | set(_LOCAL.findall(code))
    yield from (name for name in dict.fromkeys(_NAMES.findall(code)) if name not in excluded)


def check_size(inputs: int) -> None:
    """Raise NotImplied if a stage implies more than JOINED_INPUTS_MAX inputs."""
    if inputs > JOINED_INPUTS_MAX:
        raise NotImplied(f"more than {JOINED_INPUTS_MAX:,} inputs")


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
    """Drop, keep, convert, then rename, as the plugin does. Raises NotImplied if a new name is also old."""
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
    """Yield a join of each selected field with all keys, then keep these fields. Raises NotImplied."""
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
    """Return the fields of the keys, or of `stages` in an advanced join's expression, each once."""
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
    """Yield an operation per output, the value of the row with its name; keep these. Raises NotImplied."""
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
    """Yield the parsing of one field, without outputs, since the schema and later operations name them.

    Raises NotImplied without the field.
    """
    field = properties.text("field") or properties.text("inputName")
    if not field:
        raise NotImplied("without the field that is parsed")
    yield properties.transform("parse", [StageInput(field)], [], open_prefix="")


def _xml_parser(properties: Properties) -> Iterator[StageOperation]:
    """Yield the parsing of `input` into the mapped fields, then keep only these. Raises NotImplied."""
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


def _recipe(properties: Properties) -> Iterator[StageOperation]:
    """Yield the operations of a recipe, without directives on rows. Raises NotImplied, also without any."""
    directives = list(_directives(properties.text("directives")))
    if not directives:
        raise NotImplied("without `directives`")
    variables = {words[0] for verb, words, _ in directives if verb.endswith("-variable") and words}
    for verb, words, rest in deadline.watched(directives):
        if verb == "set-column" and len(words) > 1:
            yield _set_column(properties, words[0], rest, variables)
        elif verb == "set-headers" and words:
            first = properties.text("field").strip("*#")
            yield properties.change_names(verb, NameChange(headers=tuple(words), first=first))
        elif (rename := _rename_function(verb, words)) is not None:
            yield properties.change_names(verb, NameChange(rename=rename))
        elif verb not in _ROWS_ONLY:
            yield from _operations(properties, verb, words)


def _directives(recipe: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield verb, words without quotes and colons, and text after the verb, of directives; skip comments."""
    for line in map(str.strip, deadline.watched(recipe.splitlines())):
        if line[:1] in ("", "#", "/"):
            continue
        for text in deadline.watched(_split(line)):
            verb, _, rest = text.strip().partition(" ")
            # Older forms of two directives consist of two words.
            if verb == "set" and rest.split(" ")[0] in ("column", "columns"):
                kind, _, rest = rest.partition(" ")
                verb = "set-column" if kind == "column" else "set-headers"
            words = [word.strip("'\"").removeprefix(":") for word in _WORD.findall(rest)]
            if verb:
                yield verb, words, rest


def _split(line: str) -> Iterator[str]:
    """Yield the parts of a line between `;` outside quotes and braces."""
    segments: list[str] = []
    depth = 0
    for segment in _SEGMENT.findall(line):
        depth += (segment == "{") - (segment == "}")
        if segment == ";" and depth <= 0:
            yield "".join(segments)
            segments = []
        else:
            segments.append(segment)
    yield "".join(segments)


def _operations(properties: Properties, verb: str, words: Sequence[str]) -> Iterator[StageOperation]:
    """Yield the operations of a directive, or one `blurred` operation if the directive is unknown."""
    match verb, len(words):
        case "drop", count if count:
            yield from map(properties.drop, words)
        case "keep", count if count:
            yield properties.keep(words)
        case "rename", 2:
            yield properties.rename(*words)
        case "swap", 2:
            # Rename through a name that no column has, so that the columns exchange their values.
            (first, second), between = words, f"{words[0]} in {verb}"
            yield from starmap(properties.rename, ((first, between), (second, first), (between, second)))
        case "flatten", count if count:
            yield from (properties.in_place(verb, column) for column in words)
        case "write-as-csv" | "write-as-json-map", 1:
            yield replace(properties.transform(verb, [], [Field(words[0])]), reads_all=True)
        case "write-as-json-object", count if count > 1:
            yield properties.transform(verb, list(map(StageInput, words[1:])), [Field(words[0])])
        case "encode" | "decode", 2:
            yield properties.transform(verb, [StageInput(words[1])], [Field(f"{words[1]}_{verb}_{words[0]}")])
        case _:
            operation = _one_column(properties, verb, words) if words else None
            yield operation or replace(properties.transform(verb, [], []), blurred=tuple(words))


def _one_column(properties: Properties, verb: str, words: Sequence[str]) -> StageOperation | None:
    """Return the only operation of a directive, or None if it is unknown or has too few words."""
    if verb in _DERIVED and len(words) > _DERIVED[verb][1]:
        sources, target = _DERIVED[verb]
        inputs = [StageInput(words[source]) for source in sources]
        return properties.transform(verb, inputs, [Field(words[target])])
    column = words[0]
    if verb in _SUFFIXES:
        outputs = [Field(f"{column}{suffix}") for suffix in _SUFFIXES[verb]]
        return properties.transform(verb, [StageInput(column)], outputs)
    if verb in _NUMBERED | _ANY_NAMES:
        # With a header, the first row has the names of the columns.
        has_any_name = verb in _ANY_NAMES or (verb == "parse-as-csv" and words[-1].lower() == "true")
        outputs = [Field(column)] if verb == "parse-xml-to-json" else []
        prefix = "" if has_any_name else f"{column}_"
        return properties.transform(verb, [StageInput(column)], outputs, open_prefix=prefix)
    if verb in _IN_PLACE:
        type_name = words[1] if verb == "set-type" and len(words) > 1 else ""
        return properties.in_place(verb, column, type_name)
    return None


def _set_column(properties: Properties, column: str, text: str, variables: set[str]) -> StageOperation:
    """Return the assignment of an expression; names in it, except variables, are optional inputs."""
    expression = text.split(None, 1)[-1].strip().removeprefix("exp:")
    names = [name for name in expression_names(expression) if name not in variables]
    inputs = [StageInput(name, is_optional=True) for name in names]
    return properties.transform("set-column", inputs, [Field(column)])


def _rename_function(verb: str, words: Sequence[str]) -> Callable[[str], str] | None:
    """Return how a directive renames every column, or None for other directives. Raises NotImplied."""
    if verb == "cleanse-column-names":
        return lambda name: re.sub(r"[^a-z0-9_]", "_", name.strip().lower())
    if verb == "change-column-case":
        return str.upper if words[:1] in (["upper"], ["uppercase"]) else str.lower
    if verb != "columns-replace":
        return None
    match = _SED.fullmatch(" ".join(words))
    if match is None:
        raise NotImplied(f"{' '.join(words)[:100]!r} of columns-replace is not plain text")
    return _replacement(match["old"], match["new"])


def _replacement(old: str, new: str) -> Callable[[str], str]:
    """Return a function that replaces text in names, all or at `^` or `$`. Raises NotImplied for a `.`."""
    plain = old.removeprefix("^").removesuffix("$")
    if "." in plain:
        raise NotImplied(f"{old[:100]!r} of columns-replace is not plain text")
    if plain != old:
        pattern = re.compile(f"{'^' * old.startswith('^')}{re.escape(plain)}{'$' * old.endswith('$')}")
        return lambda name: pattern.sub(new, name)
    return lambda name: name.replace(plain, new)


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
    "Wrangler": (_recipe, "directives field"),
    "XMLParser": (_xml_parser, "input fieldTypeMapping"),
    "XMLToJSON": (_xml_to_json, "inputField outputField"),
}

PROPERTIES = {plugin: tuple(names.split()) for plugin, (_, names) in _PLUGINS.items()}
"""The properties to read, by plugin."""
