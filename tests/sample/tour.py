"""What does docs/tour.md show: its commands with the output printed below each, and its programs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "tour.md"
END_MS = 1_760_000_000_000
"""Where the clock of the tour stands."""

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """A command or program of the page, and what it prints according to the page."""

    line: int
    said: str
    output: str


def shown() -> list[Shown]:
    """Everything to run, from top to bottom; programs print nothing."""
    page = PAGE.read_text()
    found = []
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            found.append(Shown(line, block[2], ""))
            continue
        for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
            said, _, output = part.partition("\n")
            found.append(Shown(line, said, output.rstrip("\n")))
    return found
