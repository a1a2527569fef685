"""Where does output go: a terminal gets colours and its own width, a pipe plain lines of any length."""

from __future__ import annotations

import sys
from typing import Any, TextIO

import click
import msgspec
from rich.console import Console, RenderableType

_ANY_WIDTH = 1_000_000


def console(stream: TextIO) -> Console:
    """A console that takes texts as they are; where nobody watches it never wraps, cuts or colours."""
    if stream.isatty():
        return Console(file=stream, markup=False, emoji=False, highlight=False)
    return Console(
        file=stream, width=_ANY_WIDTH, color_system=None, markup=False, emoji=False, highlight=False
    )


def show(page: RenderableType) -> None:
    """Print a page to be read."""
    out = console(sys.stdout)
    if out.is_terminal:
        out.print(page)
        return
    with out.capture() as captured:
        out.print(page)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def show_json(body: Any) -> None:
    """Print what the API answers, as it answers it."""
    click.echo(msgspec.json.encode(body))


def note(text: str) -> None:
    """Tell something about the output, beside it."""
    click.echo(text, err=True)
