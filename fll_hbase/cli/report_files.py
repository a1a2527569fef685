"""Reports in files: the option --output, and by whom, when and from which store a report was made."""

from __future__ import annotations

import contextlib
import functools
import getpass
import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from fll_hbase.cli.options import Command, Option, Target, now_ms
from fll_hbase.cli.output import CSV, TABLE
from fll_hbase.client.answers import TableAnswer
from fll_hbase.queries import tables
from fll_hbase.queries.query import Query
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.report_document import Stamp
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.release import VERSION

HTML = "html"


def output_option(*formats: str) -> Option:
    """Return a decorator that adds --output, which writes to a file in the format of its suffix.

    The command must take these `formats` as its `output_format`, from `format_options` above this. Raises
    UsageError for another suffix, a --format that differs or a missing folder, FileError for the file.
    """
    suffixes = {f".{name}": name for name in formats}
    endings = f"{', '.join([*suffixes][:-1])} or {[*suffixes][-1]}"

    def decorate(command: Command) -> Command:
        @click.option(
            "--output",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help=f"Write to FILE, whose name ends with {endings}, instead of standard output.",
        )
        @functools.wraps(command)
        def with_output(*, output: Path | None, output_format: str, **others: Any) -> None:
            if output is None:
                command(output_format=output_format, **others)
                return
            suffix = suffixes.get(output.suffix.lower())
            if suffix is None or output_format not in (TABLE, suffix):
                detail = (
                    f"its name must end with {endings}"
                    if suffix is None
                    else f"--format {output_format} differs"
                )
                # For a PDF, the user prints the page with a browser.
                pdf = "; a browser prints .html as PDF" if output.suffix.lower() == ".pdf" else ""
                raise click.UsageError(f"--output {output}: {detail}{pdf}.")
            if not output.parent.is_dir():
                raise click.UsageError(f"--output {output}: the folder {output.parent} does not exist.")
            _write(output, partial(command, output_format=suffix, **others))

        return with_output

    return decorate


def _write(output: Path, command: Callable[[], None]) -> None:
    """Write what a command prints to a file once it ended, then raise its Exit. Raises click.FileError."""
    # Written at the end, so that a failing report does not leave a partial file.
    written = io.BytesIO()
    text = io.TextIOWrapper(written, encoding="utf-8", newline="")
    ended: click.exceptions.Exit | None = None
    with contextlib.redirect_stdout(text):
        try:
            command()
        except click.exceptions.Exit as own_exit:
            # A report may end with an exit code of its own.
            ended = own_exit
    text.flush()
    try:
        output.write_bytes(written.getvalue())
    except OSError as error:
        raise click.FileError(str(output), error.strerror or str(error)) from error
    click.echo(f"Wrote {output}.", err=True)
    if ended is not None:
        raise ended


def report_stamp(target: Target, window: WindowText, principal: str = "") -> Stamp:
    """Return when, by whom and from which store a report is made, and the zone of its times.

    If the server names a `principal`, the stamp has it with the operating-system user.
    """
    store = f"{target.url}, fll_hbase {VERSION}"
    by = f"{principal} (operating-system user {_user()})" if principal else _user()
    return Stamp(now_ms(), by=by, store=store, zone=window.zone)


def _user() -> str:
    """Return the name of the user, or the number if a container has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def report_texts(query: Query[Any], answer: TableAnswer[Any], stamp: Stamp) -> dict[str, Callable[[], str]]:
    """Return functions, by format, that render an answer as CSV and HTML if the query supports them."""
    return {
        name: partial(query.to_text, media_type, answer.body, answer.window, stamp=stamp)
        for name, media_type in ((CSV, tables.CSV), (HTML, html_report.HTML))
        if media_type in query.formats
    }
