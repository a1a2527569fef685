"""How far is it: a bar on standard error where somebody watches, nothing elsewhere; and lines beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from fll_hbase.cli.render import console as page
from fll_hbase.cli.render.escape import shown


class Bar:
    """A bar, and what is told while it moves."""

    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total, said="")

    def at(self, completed: int, said: str) -> None:
        """Move to `completed` of the total, saying where that is."""
        self._progress.update(self._task, completed=completed, said=said)

    def tell(self, line: str) -> None:
        """One line that stays."""
        self._progress.console.print(Text(shown(line)), soft_wrap=True)


@contextmanager
def bar(total: int | None) -> Iterator[Bar]:
    """A bar towards `total`, or one that only shows that something moves."""
    console = page.console(sys.stderr)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield Bar(progress, total)
