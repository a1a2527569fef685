"""docs/develop/decisions/index.md lists each decision once, by its number."""

from __future__ import annotations

import re

from tests.support.repository import ROOT

FOLDER = ROOT / "docs" / "develop" / "decisions"
PAGE = (FOLDER / "index.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(\d+)\]\((\S+)\) \| (.+) \|$", PAGE, re.MULTILINE)


def test_each_decision_is_listed_once() -> None:
    assert sorted(name for _, name, _ in ROWS) == sorted(path.name for path in FOLDER.glob("0*.md"))


def test_numbers_are_those_of_the_files_and_ascend_in_each_area() -> None:
    assert [int(name[:4]) for _, name, _ in ROWS] == [int(number) for number, _, _ in ROWS]
    for area in PAGE.split("\n## ")[1:]:
        numbers = [int(number) for number in re.findall(r"^\| \[(\d+)\]", area, re.MULTILINE)]
        assert numbers == sorted(numbers)


def test_the_page_names_the_count_and_the_missing_numbers() -> None:
    numbers = {int(number) for number, _, _ in ROWS}
    page = " ".join(PAGE.split())
    assert f"these {len(numbers)} pages" in page
    missing = set(range(1, max(numbers) + 1)) - numbers
    text = " and ".join(str(number) for number in sorted(missing))
    assert f"The numbers {text} do not exist." in page


def test_each_decision_is_one_sentence() -> None:
    assert [
        statement for _, _, statement in ROWS if not statement.endswith(".") or len(statement) > 120
    ] == []
