"""The file of `--summary`: the report of a job as JSON, replaced atomically."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click


class SummaryFile(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A file that can be written, converted to a path without links."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path. Raises BadParameter if a file cannot be written and renamed to it."""
        path = Path(value).resolve()
        # Renaming would replace a device such as /dev/null with a file.
        if path.exists() and not path.is_file():
            self.fail(f"{value} is not a file.", param, ctx)
        try:
            # Permissions are not enough: the file system may be read-only or full.
            unfinished = _unfinished(path)
            unfinished.write_bytes(b"\n")
            unfinished.unlink()
        except OSError as error:
            self.fail(f"{value} cannot be written: {error.strerror}.", param, ctx)
        return path


def write_summary(path: Path, members: Mapping[str, Any]) -> None:
    """Replace the file with one JSON object. Readers see the old file or the complete new one.

    Raises ClickException, and leaves the old file, if the new one cannot be written.
    """
    unfinished = _unfinished(path)
    try:
        unfinished.write_text(json.dumps(members) + "\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise click.ClickException(f"the summary cannot be written to {path}: {error.strerror}") from error


def print_summary(members: Mapping[str, Any], text: Callable[[], str], file: Path | None = None) -> None:
    """Print the report of a job as text on a terminal, else as a line of JSON, and write JSON to `file`."""
    click.echo(text() if sys.stdout.isatty() else json.dumps(members))
    if file:
        write_summary(file, members)


def _unfinished(path: Path) -> Path:
    """Return the path of this process's temporary file, in the directory of the final file."""
    # In the same directory, since a file cannot be renamed to another file system.
    return path.with_name(f".{path.name[:200]}.{os.getpid()}")
