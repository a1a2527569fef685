"""docs/ask/page.md names tests and parameters that exist, and each of the 28 complaints once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ask" / "page.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "page").glob("test_*.py"))
STATE = (ROOT / "page" / "src" / "state" / "page-state.ts").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    names = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(names) > 20
    assert [name for name in sorted(names) if f"def {name}(" not in TESTS] == []


def test_every_complaint_is_answered_once() -> None:
    rows = re.findall(r"^\| (\d+) \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 29)]


def test_every_view_and_report_of_the_address_is_listed() -> None:
    for name in ("VIEWS", "DIRECTIONS", "REPORTS", "OPERATION_VIEWS"):
        (values,) = re.findall(rf"export const {name} = \[(.*?)\]", STATE)
        for value in re.findall(r'"(\w+)"', values):
            assert f"`{value}`" in PAGE, value
