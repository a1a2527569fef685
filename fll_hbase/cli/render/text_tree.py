"""A tree of lines with guides before each, wrapped at spaces on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from fll_hbase.cli.render.screen import Block, Screen, wrap

_WIDTH_MIN = 24
_NAMES = re.compile(r"^.*?(?:: |, )")
"""Names before a description or a list of operations, which must not be broken."""


@dataclass(slots=True)
class TextTree:
    """A line, and the trees below it. Characters that move the cursor must be escaped already."""

    line: str
    branches: list[TextTree] = field(default_factory=list)

    def add(self, line: str) -> TextTree:
        """Add a branch with a line; return it."""
        self.branches.append(TextTree(line))
        return self.branches[-1]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a pipe."""
        yield from (Segment(f"{guide}{line}\n") for guide, _, line in self._lines())

    def fit(self, screen: Screen) -> Block:
        """Return the tree for a terminal."""
        items = [
            [
                f"{following if index else guide}{part}"
                for index, part in enumerate(_wrapped(line, screen.width - len(following)))
            ]
            for guide, following, line in self._lines()
        ]
        return Block(items=items, unit="lines")

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield each line with the guide before it, and the guides before its further lines."""
        # A stack instead of recursion: chains of operations may exceed Python's recursion limit.
        pending = [(self, "", "")]
        while pending:
            tree, guide, following = pending.pop()
            yield guide, following + ("│ " if tree.branches else "  "), tree.line
            last = len(tree.branches) - 1
            pending += [
                (
                    branch,
                    following + ("└── " if number == last else "├── "),
                    following + ("    " if number == last else "│   "),
                )
                for number, branch in reversed([*enumerate(tree.branches)])
            ]


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line as several: its names stay whole, and the text after them is broken at spaces."""
    names = _NAMES.match(line)
    if names is None:
        return [line]
    return wrap(line[names.end() :], max(width, _WIDTH_MIN), prefix=names[0].rstrip())
