"""Commands and programs of docs/ask/tour.md, with the output that the page shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "ask" / "tour.md"
END_MS = 1_760_000_000_000
"""Where the clock of the tour stands."""

REST_PAGE = PAGE.parents[1] / "reference" / "rest.md"
_REQUEST = re.compile(r"^\$ curl -s '([^']*)'\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """A command or program of the page, and what it prints according to the page."""

    line: int
    source: str
    output: str


def shown() -> list[Shown]:
    """Everything to run, from top to bottom; programs print nothing."""
    page = PAGE.read_text()
    examples = []
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            examples.append(Shown(line, block[2], ""))
            continue
        for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
            source, _, output = part.partition("\n")
            examples.append(Shown(line, source, output.rstrip("\n")))
    return examples


def shown_requests() -> list[tuple[str, str]]:
    """URLs of docs/reference/rest.md with a window, and the JSON of the answers below them.

    The others are about the last 30 days (tests/api/openapi/test_examples.py).
    """
    return [request for request in _REQUEST.findall(REST_PAGE.read_text()) if "start=now" in request[0]]
