"""Options that commands share, and what they open: names, times, the window, the store or server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

import click

from fll_hbase import clock, config, time_window
from fll_hbase.client import HttpClient, LineageClient, LocalClient, WindowText
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.store.factory import open_store

Command = Callable[..., None]

STORE_HELP = "URL of the store, such as sqlite:///data/lineage.db (default: FLL_STORE)."
NAMESPACE_HELP = "Default namespace for documents without one."

QUERY_TIMEOUT_SECONDS, RECORD_TIMEOUT_SECONDS = 5.0, 60.0
"""How long requests to an unavailable server are retried; a person who waits for an answer retries sooner."""


class NameParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A name of 1 to `bytes_max` bytes in UTF-8."""

    def __init__(self, name: str, bytes_max: int) -> None:
        self.name = name
        self._bytes_max = bytes_max

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Raises BadParameter for a name that is too long, empty or not UTF-8."""
        # Python decodes arguments that are not UTF-8 to lone surrogates, which cannot be encoded again.
        try:
            size = len(str(value).encode())
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8.", param, ctx)
        if not 0 < size <= self._bytes_max:
            self.fail(f"is {size} bytes long; names have 1 to {self._bytes_max}.", param, ctx)
        return str(value)


class TimeParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A time such as `now-7d`, converted to milliseconds since 1970, rounded up."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds since 1970. Raises BadParameter for text that is not a time."""
        # Rounded up as in `parse_window`: an end within a millisecond includes the runs at its beginning.
        try:
            return ceil(time_window.parse_seconds(str(value), now_ms=now_ms()) * 1000)
        except ValueError as error:
            self.fail(str(error), param, ctx)


NAMESPACE = NameParam("namespace", ID_BYTES_MAX)
NAME = NameParam("name", NAME_BYTES_MAX)
TIME = TimeParam()


def now_ms() -> int:
    """Return the current time in milliseconds since 1970; a caller may inject a clock: `main(obj=clock)`."""
    injected: Callable[[], int] | None = click.get_current_context().find_root().obj
    return (injected or clock.now_ms)()


def dataset_arguments(command: Command) -> Command:
    """Add the arguments NS and NAME, which the command receives as `namespace` and `name`."""
    # The decorator applied last comes first on the command line, as the topmost one of a command does.
    with_name = click.argument("name", metavar="NAME", type=NAME)(command)
    return click.argument("namespace", metavar="NS", type=NAMESPACE)(with_name)


def window_options(command: Command) -> Command:
    """Add --start and --end, which the command receives as `window`."""

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
    def with_window(*, start: str, end: str, **others: Any) -> None:
        command(window=WindowText(start, end), **others)

    return with_window


def target_options(command: Command) -> Command:
    """Add --store and --server, of which at most one can be given."""

    @click.option("--store", metavar="URL", help=STORE_HELP)
    @click.option("--server", metavar="URL", help="URL of a server, such as http://localhost:8080.")
    @functools.wraps(command)
    def with_target(*, store: str | None, server: str | None, **others: Any) -> None:
        if store is not None and server is not None:
            raise click.UsageError("Give --store or --server, not both.", click.get_current_context())
        command(store=store, server=server, **others)

    return with_target


@contextmanager
def open_target(store: str | None, server: str | None, *, create: bool = False) -> Iterator[LineageClient]:
    """Open the client of --server, else of --store or FLL_STORE, and close it at the end.

    A SQLite file must exist unless `create`. Raises ConfigurationError or StoreUnavailable.
    """
    if server is not None:
        # Only `fll record` sets `create`: giving up early would leave the rest of its file unrecorded.
        timeout_seconds = RECORD_TIMEOUT_SECONDS if create else QUERY_TIMEOUT_SECONDS
        client: LineageClient = HttpClient(server, timeout_seconds=timeout_seconds)
    else:
        settings = config.from_environment(store=store)
        # One `now` for all windows of a command; with a server `now` is that of the server.
        now = now_ms()
        opened = open_store(settings, create=create)
        client = LocalClient(opened, settings=settings, clock=lambda: now, owned=True)
    with client:
        yield client
