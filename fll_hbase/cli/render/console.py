"""Console output: coloured and wrapped on a terminal, plain in a pipe, with control characters escaped."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, tzinfo
from typing import Any, TextIO

import click
import msgspec
from rich.console import Console, RenderableType

from fll_hbase.cli.render.screen import Screen, draw
from fll_hbase.queries import name_json
from fll_hbase.runtime.escape import escape_control, escape_control_json

_UNLIMITED_WIDTH = 1_000_000


def open_console(stream: TextIO) -> Console:
    """Return a console that prints text unchanged, and in a pipe never wraps, truncates or colours it."""
    # Names such as `[red]` and `:ok:` are not markup and emoji. By default rich wraps at 80 columns in a
    # pipe.
    if stream.isatty():
        return Console(file=stream, markup=False, emoji=False, highlight=False)
    return Console(
        file=stream, width=_UNLIMITED_WIDTH, color_system=None, markup=False, emoji=False, highlight=False
    )


def print_renderable(page: RenderableType, screen: Screen | None = None) -> None:
    """Print a table or tree to standard output, for a screen, or in full and without colours for a pipe."""
    console = open_console(sys.stdout)
    if screen is not None:
        # Not wrapped, so that a name that is longer than a line can be copied from the terminal.
        for text in draw(page, screen):
            console.print(text, soft_wrap=True)
        return
    with console.capture() as captured:
        console.print(page)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_text(text: str) -> None:
    """Print lines of a format as they are, but for a terminal with control characters escaped."""
    if sys.stdout.isatty():
        text = "\n".join(map(escape_control, text.split("\n")))
    click.echo(text, nl=False)


def print_json(body: Any) -> None:
    """Print the body of an answer byte for byte as the API sends it, escaped within JSON on a terminal."""
    # As bytes, because click writes them without the encoding of the terminal or pipe.
    encoded = msgspec.json.encode(body)
    if name_json.HIDDEN_MEMBER in encoded:
        encoded = msgspec.json.encode(name_json.remove_hidden_names(body))
    if sys.stdout.isatty():
        encoded = escape_control_json(encoded.decode()).encode()
    click.echo(encoded)


def format_time(milliseconds: int, zone: tzinfo = UTC) -> str:
    """Format a time to the second, or to the millisecond if it is not a whole second, without its zone.

    A time beyond the year 9999 becomes its milliseconds, such as `253402300800000 ms`.
    """
    try:
        time = datetime.fromtimestamp(milliseconds // 1000, zone)
    except (OverflowError, ValueError, OSError):
        # datetime ends with the year 9999, but stored times do not.
        return f"{milliseconds} ms"
    fraction = f".{milliseconds % 1000:03d}" if milliseconds % 1000 else ""
    return f"{time:%Y-%m-%d %H:%M:%S}{fraction}"
