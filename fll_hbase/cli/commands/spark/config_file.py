"""The configuration file of jobs: TOML with the names of options and settings."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, BinaryIO, TypeAlias

import click

from fll_hbase.cli.groups import CommandGroup
from fll_hbase.runtime.config import Settings

FILE_BYTES_MAX = 2**20

SPARK_CONF = "conf"
"""The table of Spark settings, which are merged with the settings of the command line one by one."""

NOT_IN_FILES = frozenset({"config", "help"})
_SETTINGS = frozenset(setting.name.replace("_", "-") for setting in fields(Settings))

Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """Values in a file for one command: defaults of its options by parameter, settings, and `conf`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str | int] = field(default_factory=dict)
    spark_settings: Mapping[str, str] = field(default_factory=dict)


def apply_config(ctx: click.Context, param: click.Parameter, file: BinaryIO | None) -> ConfigFile:
    """Return the configuration of a file, and make its options the defaults of the command in `ctx`.

    Without a file, the configuration is empty. Raises BadParameter with the fault in the file.
    """
    if file is None:
        return ConfigFile()
    try:
        text = file.read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise ValueError(f"is longer than {FILE_BYTES_MAX} bytes")
        config = parse_config(tomllib.loads(text.decode()), _jobs(ctx), ctx.info_name or "")
    except RecursionError as error:
        raise click.BadParameter(f"{file.name}: tables are nested too deeply.") from error
    except ValueError as error:
        raise click.BadParameter(f"{file.name}: {error}.") from error
    ctx.default_map = dict(config.options)
    return config


def parse_config(
    values: Mapping[str, Any], jobs: Mapping[str, Sequence[click.Option]], job: str
) -> ConfigFile:
    """Return the configuration of a file for `job`, whose own table has priority over the rest of the file.

    The top level has settings and options of all jobs. A table `[job]` may also have options of that job.
    Raises ValueError for an unknown name in any table, or a value for `job` that has the wrong type.
    """
    options = {name: {_file_name(option): option for option in jobs[name]} for name in jobs}
    shared = frozenset.intersection(*(frozenset(names) for names in options.values()))
    top = {name: value for name, value in _items(values) if name not in jobs}
    _check_names(top, shared | _SETTINGS, options)
    tables: dict[str, Values] = {name: {} for name in jobs}
    for name, table in _items(values):
        if name in jobs:
            if not isinstance(table, dict):
                raise ValueError(f"`{name}` is the name of a job: write a table [{name}]")
            tables[name] = dict(_items(table))
            _check_names(tables[name], options[name].keys() | _SETTINGS, {}, table=name)
    conf = {**_flatten(top.get(SPARK_CONF, {})), **_flatten(tables[job].get(SPARK_CONF, {}))}
    return _config_of_job({**top, **tables[job]}, options[job], conf)


def _config_of_job(
    values: Values, options: Mapping[str, click.Option], conf: Mapping[str, str]
) -> ConfigFile:
    """Return checked values as options of a job, else as settings, else not at all. Raises ValueError."""
    defaults = {
        options[name].name or "": _option_value(name, value, options[name])
        for name, value in values.items()
        if name in options and name != SPARK_CONF
    }
    settings = {
        name.replace("-", "_"): _setting_value(name, value)
        for name, value in values.items()
        if name in _SETTINGS and name not in options
    }
    return ConfigFile(defaults, settings, conf)


def _jobs(context: click.Context) -> dict[str, Sequence[click.Option]]:
    """Return the options of each job of the command group, by the name of the job."""
    group = context.parent.command if context.parent else None
    # `commands` of the group would have only those imported so far.
    commands = (
        group.all_commands()
        if isinstance(group, CommandGroup)
        else {context.info_name or "": context.command}
    )
    return {
        name: [param for param in command.params if isinstance(param, click.Option)]
        for name, command in commands.items()
    }


def _file_name(option: click.Option) -> str:
    """Return the name of an option in files: its long form without dashes before it."""
    return max(option.opts, key=len).lstrip("-")


def _items(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a table, with `-` in place of each `_` in a name."""
    return ((name.replace("_", "-"), value) for name, value in values.items())


def _check_names(
    values: Values, valid_names: frozenset[str] | set[str], options: Mapping[str, Values], *, table: str = ""
) -> None:
    """Raise ValueError for a name that is not valid in a table, with advice."""
    for name in values:
        if name in valid_names - NOT_IN_FILES:
            continue
        where = f" in [{table}]" if table else ""
        jobs = [job for job, names in options.items() if name in names and name not in NOT_IN_FILES]
        near = difflib.get_close_matches(name, valid_names - NOT_IN_FILES, n=1)
        advice = f"; write it in [{'] or ['.join(jobs)}]" if jobs else ""
        advice = advice or (f"; did you mean `{near[0]}`?" if near else "; --help lists the options")
        raise ValueError(f"`{name}`{where} is not a setting or option of {table or 'every job'}{advice}")


def _option_value(name: str, value: Any, option: click.Option) -> Any:
    """Return a value as the command line would give it. Raises ValueError for another type."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"`{name}` is true or false, not {value!r}")
        return value
    if option.multiple:
        # A table is converted to a list of NAME=VALUE.
        items = (
            [f"{key}={text}" for key, text in _flatten(value).items()] if isinstance(value, dict) else value
        )
        if not isinstance(items, list):
            raise ValueError(f'`{name}` is a list, such as ["{value}"]')
        return [_text(name, item) for item in items]
    return _text(name, value)


def _setting_value(name: str, value: Any) -> str | int:
    """Return a value of a setting. Raises ValueError unless it is a text or a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"`{name}` is a text or a whole number, not {value!r}")
    return value


def _text(name: str, value: Any) -> str:
    """Return a value of TOML as text, a date in ISO 8601. Raises ValueError for bools, arrays and tables."""
    # Dates of TOML become ISO 8601, which options accept.
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"`{name}` is a text or a number, not {value!r}")
    return str(value)


def _flatten(values: Any, prefix: str = "") -> dict[str, str]:
    """Return nested tables as dotted names, since TOML nests `spark.a.b = 1`. Raises ValueError."""
    if not isinstance(values, dict):
        raise ValueError(f"`{prefix or SPARK_CONF}` is a table of names and values")
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = str(value).lower() if isinstance(value, bool) else _text(prefix + key, value)
    return flat
