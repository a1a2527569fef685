"""Output of query commands: the option --format, and printing an answer in the format chosen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType

from fll_hbase.cli.options import Command
from fll_hbase.cli.render import console
from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.time_text import format_with_zone
from fll_hbase.client.answers import TableAnswer, TypedAnswer
from fll_hbase.runtime import csv_text

TABLE, JSON, CSV, MERMAID = "table", "json", "csv", "mermaid"

NO_TEXTS: Mapping[str, Callable[[], str]] = {}

Lines = Callable[[], Iterable[str]]


def format_options(*formats: str) -> Callable[[Command], Command]:
    """Add --format with these formats, the first as default, and --json; received as `output_format`."""

    def decorate(command: Command) -> Command:
        @click.option(
            "--format",
            "output_format",
            type=click.Choice(formats),
            help=f"Output format (default: {formats[0]}).",
        )
        @click.option("--json", "as_json", is_flag=True, help="As --format json: the JSON of the API.")
        @functools.wraps(command)
        def with_format(*, output_format: str | None, as_json: bool, **others: Any) -> None:
            if as_json and output_format not in (None, JSON):
                message = f"Give --json or --format {output_format}, not both."
                raise click.UsageError(message, click.get_current_context())
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
    texts: Mapping[str, Callable[[], str]] = NO_TEXTS,
    note: str = "",
) -> None:
    """Print an answer in a format, and on standard error what cut it; `table` and `mermaid` render it.

    `texts` render formats of a command's own, and take the place of the common CSV. A `note` stands below the
    table.
    """
    # Rendered only if it is printed: an answer may have a quarter of a million rows.
    if output_format == JSON:
        console.print_json(answer.body)
    elif output_format == TABLE:
        console.print_renderable(table())
        if note:
            click.echo(note)
    elif output_format in texts:
        console.print_text(texts[output_format]())
    else:
        for line in mermaid() if output_format == MERMAID else _csv(answer):
            console.print_text(f"{line}\n")
    # On standard error, so that standard output stays parseable, with exit code 0: the answer is usable.
    if answer.incomplete:
        console.print_err(f"fll: not complete: {answer.incomplete}.")
    if answer.retained_from_ms is not None:
        start = format_with_zone(answer.retained_from_ms, "UTC")
        console.print_err(f"fll: runs before {start} may have been deleted by retention.")


def _csv(answer: TypedAnswer[Any]) -> Iterator[str]:
    """Yield the lines of CSV of an answer that has rows. Raises TypeError for another one."""
    if not isinstance(answer, TableAnswer):
        raise TypeError(f"{type(answer).__name__} is no table")
    yield from csv_lines(answer)


def csv_lines(answer: TableAnswer[Any]) -> Iterator[str]:
    """Yield the header and each row of an answer as a line of CSV, without its end."""
    times = set(answer.shape.times)
    yield csv_text.to_line(answer.columns)
    for row in answer:
        yield csv_text.to_line([_cell(row[name], is_time=name in times) for name in answer.columns])


def _cell(value: Any, *, is_time: bool) -> Any:
    """Return a value for CSV: None as "", bools in lower case, times in milliseconds as ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not is_time:
        return value
    # Without a zone a spreadsheet would take it for local time; years beyond 9999 have no ISO form.
    text = format_time(value)
    return value if text.endswith("ms") else f"{text.replace(' ', 'T')}Z"
