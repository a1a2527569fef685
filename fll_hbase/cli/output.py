"""Output of query commands: the options --format and --all, and printing an answer in the chosen format."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import Command, Option, current_zone, keep_in_context, now_ms
from fll_hbase.cli.render import console
from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.screen import Screen
from fll_hbase.cli.render.time_text import format_with_zone
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.client.answers import TableAnswer, TypedAnswer
from fll_hbase.runtime import escape

TABLE, JSON, CSV, MERMAID = "table", "json", "csv", "mermaid"

_LINES_MIN = 6
"""Minimum number of lines of a page, however low the terminal is."""

Lines = Callable[[], Iterable[str]]

_ALL, _VERBOSE = "fll_hbase.cli.all", "fll_hbase.cli.verbose"
"""Keys of --all and --verbose in the metadata of the current command's context."""


def _flag(name: str, key: str, text: str) -> Option:
    """Return the option of a flag that is kept in the metadata."""
    return click.option(name, is_flag=True, expose_value=False, callback=keep_in_context(key), help=text)


_all_option = _flag(
    "--all", _ALL, "Print all rows on a terminal, not just one screen; a pipe always gets all."
)
verbose_option = _flag("--verbose", _VERBOSE, "Also print checksums on a terminal.")


def format_options(*formats: str, listed: bool = True) -> Option:
    """Add --format with these formats, the first as default, and --json; received as `output_format`.

    Raises UsageError for --json with another format.
    With `listed`, for a command that prints more than one thing, also add --all.
    """

    def decorate(command: Command) -> Command:
        if listed:
            command = _all_option(command)

        @click.option(
            "--format",
            "output_format",
            type=WordChoice(formats),
            help=f"Output format (default: {formats[0]}).",
        )
        @click.option("--json", "as_json", is_flag=True, help="As --format json: the JSON of the API.")
        @functools.wraps(command)
        def with_format(*, output_format: str | None, as_json: bool, **others: Any) -> None:
            if as_json and output_format not in (None, JSON):
                message = f"Give --json or --format {output_format}, not both."
                raise click.UsageError(message)
            chosen = JSON if as_json else output_format or formats[0]
            command(output_format=chosen, **others)

        return with_format

    return decorate


def print_answer(
    answer: TypedAnswer[Any],
    output_format: str,
    *,
    table: Callable[[], RenderableType],
    mermaid: Lines = lambda: (),
    texts: Mapping[str, Callable[[], str]] = MappingProxyType({}),
    note: str = "",
    following: str = "",
) -> None:
    """Print an answer in a format, and on standard error what truncated it and which runs may be deleted.

    `table` and `mermaid` render the answer. `texts` render formats of a single command, and replace the
    common CSV. A `note` is printed below the table, and the line `following` on standard error.
    """
    complaints = [f"fll: not complete: {answer.incomplete}."] if answer.incomplete else []
    if answer.retained_from_ms is not None:
        start = format_with_zone(answer.retained_from_ms, current_zone().key)
        complaints.append(f"fll: runs before {start} may have been deleted by retention.")
    if following:
        complaints.append(following)
    # Rendered only if printed, since an answer may have a quarter of a million rows.
    if output_format == JSON:
        console.print_json(answer.body)
    elif output_format == TABLE:
        page = Group(table(), Text(note)) if note else table()
        print_page(page, *complaints)
    elif output_format in texts:
        console.print_text(texts[output_format]())
    else:
        for line in mermaid() if output_format == MERMAID else csv_lines(answer):
            console.print_text(f"{line}\n")
    # On standard error, so that standard output stays parseable. The exit code is 0: the answer is usable.
    for line in complaints:
        print_err(line)


def print_incomplete(reasons: Iterable[str]) -> None:
    """Print each distinct reason why an answer is not complete, except "", on standard error."""
    for reason in dict.fromkeys(filter(None, reasons)):
        print_err(f"fll: not complete: {reason}.")


def print_page(page: RenderableType, *below: str) -> None:
    """Print a page. Without --all, a terminal gets one screen, with room for the lines below."""
    console.print_renderable(page, _screen(below))


def shows_all() -> bool:
    """Return whether the current command prints everything, because of --all or a pipe."""
    return not sys.stdout.isatty() or has_all()


def has_all() -> bool:
    """Return whether --all is given."""
    return _is_given(_ALL)


def shows_checksums() -> bool:
    """Return whether the current command shows checksums, because of --verbose or a pipe."""
    return not sys.stdout.isatty() or _is_given(_VERBOSE)


def _is_given(key: str) -> bool:
    return bool(click.get_current_context().meta.get(key))


def _screen(below: Sequence[str]) -> Screen | None:
    """Return the terminal's screen, cut if the command has --all and it is not given, or None for a pipe."""
    if not sys.stdout.isatty():
        return None
    size = console.open_console(sys.stdout).size
    lines_below = sum(1 + len(line) // size.width for line in below)
    # One line for the prompt. A command without --all prints one thing, in full.
    meta = click.get_current_context().meta
    is_cut = meta.get(_ALL) is False
    lines_max = max(size.height - 1 - lines_below, _LINES_MIN) if is_cut else None
    return Screen(size.width, lines_max, now_ms(), _is_given(_VERBOSE))


def csv_lines(answer: TypedAnswer[Any]) -> Iterator[str]:
    """Yield the header and each row of an answer as a line of CSV, without its end.

    Raises TypeError for an answer that is not a table.
    """
    if not isinstance(answer, TableAnswer):
        raise TypeError(f"{type(answer).__name__} is not a table")
    times = set(answer.shape.times)
    yield escape.to_line(answer.columns)
    for row in answer:
        yield escape.to_line([_cell(row[name], is_time=name in times) for name in answer.columns])


def _cell(value: Any, *, is_time: bool) -> Any:
    """Return a value for CSV: None as "", bools in lower case, times as ISO 8601 up to the year 9999."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not is_time:
        return value
    # A spreadsheet would take a time without a zone for local time. Years beyond 9999 have no ISO form.
    text = format_time(value)
    return value if text.endswith("ms") else f"{text.replace(' ', 'T')}Z"
