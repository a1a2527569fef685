"""Options of queries, made from the descriptions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from fll_hbase.cli.options import NAME, Command, Option, add_options, resolve_times, window_options
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.queries.parameters import Kind, Parameter, parameters
from fll_hbase.queries.query import Query, Windowed
from fll_hbase.queries.time_window import WindowText


def query_options(
    query: type[Query[Any]],
    *,
    without: Sequence[str] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Option:
    """Return a decorator that adds the options of a query; the command receives the `query` itself.

    If the query has a window, the command also receives it as `window`. Parameters without a default are
    arguments, which a decorator above this one adds. Parameters in `without` get no option, and `defaults`
    replace the query's own. Raises InvalidQuery for times that do not exist; the query itself is not checked.
    """
    default_start = str(query.start) if issubclass(query, Windowed) else None
    listed = [item for item in parameters(query) if item.attribute not in ("start", "end", *without)]
    times = [item.attribute for item in listed if item.kind is Kind.TIME]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_query(**others: Any) -> None:
            # An option that is not given has the default of the parameter.
            given = ((item.attribute, others.pop(item.attribute)) for item in listed)
            values = {name: value for name, value in given if value is not None}
            if default_start is not None:
                window: WindowText = others["window"]
                typed = {_option_name(name): values.pop(name) for name in times if name in values}
                resolved = resolve_times(typed, zone=window.zone)
                values |= {name.replace("-", "_"): time for name, time in resolved.items()}
                values |= {"start": window.start, "end": window.end}
            command(query=query(**values), **others)

        options = [
            _option(item, defaults.get(item.attribute, item.default)) for item in listed if not item.required
        ]
        decorated = add_options(with_query, options)
        return window_options(decorated, default_start=default_start) if default_start else decorated

    return decorate


def _option_name(attribute: str) -> str:
    """Return the name of the option of an attribute, without `--`."""
    return attribute.replace("_", "-")


def _option(parameter: Parameter, default: Any) -> Option:
    """Return the option of a parameter; a flag whose default is true also has `--no-…`."""
    name = f"--{_option_name(parameter.attribute)}"
    text = parameter.about.help.replace("`", "")
    options: dict[str, Any] = {"help": f"{text}." if text else None}
    if parameter.kind is Kind.FLAG:
        if default:
            return click.option(f"{name}/--no-{name[2:]}", default=True, show_default=True, **options)
        return click.option(name, is_flag=True, **options)
    if default not in (None, ""):
        options |= {"default": default, "show_default": True}
    match parameter.kind:
        case Kind.WORD:
            return click.option(name, type=WordChoice(parameter.words), **options)
        case Kind.TIME:
            return click.option(name, metavar="TIME", **options)
        case Kind.COUNT:
            bounds = click.IntRange(parameter.about.minimum, parameter.about.maximum)
            return click.option(name, metavar="COUNT", type=bounds, **options)
        case _:
            return click.option(name, metavar=name[2:].upper(), type=NAME, **options)
