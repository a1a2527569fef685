"""A bar that shows the progress of a command on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from fll_hbase.cli.render.console import open_console
from fll_hbase.runtime.escape import escape_control


class ProgressBar:
    """A progress bar on a terminal, and lines printed above it."""

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total, status="")

    def update(self, completed: int, status: str) -> None:
        """Move to `completed` of the total and show a status."""
        self._progress.update(self._task, completed=completed, status=status)

    @property
    def is_shown(self) -> bool:
        """Return whether standard error is a terminal."""
        return not self._progress.disable

    def print(self, line: str) -> None:
        """Print a line, with control characters escaped, above the bar. It stays when the bar disappears."""
        self._progress.console.print(Text(escape_control(line)), soft_wrap=True)


@contextmanager
def progress_bar(total: int | None) -> Iterator[ProgressBar]:
    """Show a bar on standard error if it is a terminal. Without a total, the bar only shows activity."""
    console = open_console(sys.stderr)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[status]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield ProgressBar(progress, total)
