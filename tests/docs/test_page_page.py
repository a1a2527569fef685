"""docs/ask/page.md shows each screen and parameter, tests/page/README.md names complaints and their tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ask" / "page.md").read_text(encoding="utf-8")
COMPLAINTS = (ROOT / "tests" / "page" / "README.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "page").glob("test_*.py"))
STATE = (ROOT / "page" / "src" / "state" / "page-state.ts").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    names = set(re.findall(r"`(test_\w+)`", COMPLAINTS))
    assert len(names) > 20
    assert [name for name in sorted(names) if f"def {name}(" not in TESTS] == []


def test_every_complaint_is_answered_once() -> None:
    rows = re.findall(r"^\| (\d+) \| .+ \| .+ \|$", COMPLAINTS, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 29)]


def test_every_view_and_report_of_the_address_is_listed() -> None:
    for name in ("VIEWS", "DIRECTIONS", "REPORTS", "OPERATION_VIEWS"):
        (values,) = re.findall(rf"export const {name} = \[(.*?)\]", STATE)
        for value in re.findall(r'"(\w+)"', values):
            assert f"`{value}`" in PAGE, value


def test_every_view_has_a_picture() -> None:
    (values,) = re.findall(r"export const VIEWS = \[(.*?)\]", STATE)
    sections = dict(part.partition("\n")[::2] for part in re.split("^#+ ", PAGE, flags=re.MULTILINE))
    above = re.compile(r"^!\[.+\]\(\.\./pictures/\w+\.png\)$", re.MULTILINE)
    pictured = {title.lower() for title, text in sections.items() if above.search(text)}
    # The graph is shown first of all.
    assert pictured == {*re.findall(r'"(\w+)"', values), "the web page"} - {"graph"}
