"""Commands and programs of the pages that show output of the sample, with that output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "ask/tour.md",
    "start.md",
    *(f"concepts/{name}.md" for name in ("index", "windows", "runs", "names", "influence")),
)
"""The tour first: it makes the sample."""
END_MS = 1_760_000_000_000
"""Where the clock of the tour stands."""

REST_PAGES = ("reference/rest.md", "ask/rest.md")
_REQUEST = re.compile(r"^\$ curl -s '([^']*)'\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """A command or program of a page, and what it prints according to the page."""

    page: str
    line: int
    source: str
    output: str


def shown() -> list[Shown]:
    """Everything to run, page after page, from top to bottom; programs print nothing."""
    return [item for page in PAGES for item in _shown_on(page)]


def _shown_on(page: str) -> Iterator[Shown]:
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            yield Shown(page, line, block[2], "")
            continue
        for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
            source, _, output = part.partition("\n")
            yield Shown(page, line, source, output.rstrip("\n"))


def shown_requests() -> list[tuple[str, str]]:
    """URLs of the pages about REST, and the JSON of the answers below them.

    Those of the reference have a window; the others there are about the last 30 days
    (tests/api/openapi/test_examples.py).
    """
    shown_on = {page: _REQUEST.findall((DOCS / page).read_text(encoding="utf-8")) for page in REST_PAGES}
    return shown_on["ask/rest.md"] + [
        item for item in shown_on["reference/rest.md"] if "start=now" in item[0]
    ]
