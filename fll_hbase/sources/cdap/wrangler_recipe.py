"""Recipes of Wrangler: each directive as operations on columns.

The syntax follows the documentation of directives (https://github.com/data-integrations/wrangler). Columns
are written `:name` or, in older recipes, `name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import starmap

from fll_hbase.model.datasets import Field
from fll_hbase.runtime import deadline
from fll_hbase.sources.cdap.plugin_properties import QUOTED, NotImplied, Properties, expression_names
from fll_hbase.sources.cdap.stage_operations import NameChange, StageInput, StageOperation

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


def recipe_operations(properties: Properties) -> Iterator[StageOperation]:
    """Yield the operations of a recipe, without directives on rows.

    Raises NotImplied for an empty recipe, and for a pattern of `columns-replace` that is not plain text.
    """
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
    """Yield the verb of each directive, its words without quotes and colons, and the text after the verb."""
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
    """Yield the operations of a directive; an unknown directive changes whatever it may change."""
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
    """Return the only operation of a directive, or None if the directive is unknown."""
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
    """Return the assignment of an expression, with each column that it names as an input."""
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
    """Return a function that replaces plain text in names, or at their start (`^`) or end (`$`) only.

    Raises NotImplied for other patterns.
    """
    plain = old.removeprefix("^").removesuffix("$")
    if "." in plain:
        raise NotImplied(f"{old[:100]!r} of columns-replace is not plain text")
    if plain != old:
        pattern = re.compile(f"{'^' * old.startswith('^')}{re.escape(plain)}{'$' * old.endswith('$')}")
        return lambda name: pattern.sub(new, name)
    return lambda name: name.replace(plain, new)
