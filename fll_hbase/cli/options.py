"""Which options do commands share: where to ask, in which window, and names that are names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from fll_hbase import time_window
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

Command = Callable[..., None]

STORE_HELP = "URL of the store, such as sqlite:///data/lineage.db; by default FLL_STORE."


@dataclass(frozen=True, slots=True)
class WindowText:
    """A window in the words of the question."""

    start: str
    end: str

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"


class Name(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A name of at most so many bytes, in UTF-8."""

    def __init__(self, name: str, bytes_max: int) -> None:
        self.name = name
        self._bytes_max = bytes_max

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            size = len(str(value).encode())
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8.", param, ctx)
        if not 0 < size <= self._bytes_max:
            self.fail(f"is {size} bytes long; names have 1 to {self._bytes_max}.", param, ctx)
        return str(value)


NAMESPACE = Name("namespace", ID_BYTES_MAX)
NAME = Name("name", NAME_BYTES_MAX)


def end_point_arguments(command: Command) -> Command:
    """NS and NAME."""
    named = click.argument("name", metavar="NAME", type=NAME)(command)
    return click.argument("namespace", metavar="NS", type=NAMESPACE)(named)


def window_options(command: Command) -> Command:
    """--start and --end, given to the command as `window`."""

    @click.option(
        "--start",
        default=time_window.DEFAULT_START,
        show_default=True,
        metavar="TIME",
        help="Runs that start at TIME or later.",
    )
    @click.option(
        "--end",
        default=time_window.DEFAULT_END,
        show_default=True,
        metavar="TIME",
        help="Runs that start before TIME.",
    )
    @functools.wraps(command)
    def windowed(*, start: str, end: str, **said: Any) -> None:
        command(window=WindowText(start, end), **said)

    return windowed


def place_options(command: Command) -> Command:
    """--store and --server, of which only one can be given."""

    @click.option("--store", metavar="URL", help=STORE_HELP)
    @click.option("--server", metavar="URL", help="URL of a server, such as http://localhost:8080.")
    @functools.wraps(command)
    def placed(*, store: str | None, server: str | None, **said: Any) -> None:
        if store is not None and server is not None:
            raise click.UsageError("Give --store or --server, not both.", click.get_current_context())
        command(store=store, server=server, **said)

    return placed
