"""The page on security names settings and paths of the code, and the list of attacks names tests."""

from __future__ import annotations

import re
from pathlib import Path

from api.security.authentication import OPEN_PATHS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate" / "security.md").read_text()
ATTACKS = (ROOT / "tests" / "attacks" / "README.md").read_text()
CONFIGURATION = (ROOT / "docs" / "reference" / "configuration.md").read_text()


def test_the_test_of_each_attack_is_there() -> None:
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", ATTACKS)
    assert len(tests) >= 20
    for path, name in tests:
        text = (ROOT / path).read_text()
        assert not name or re.search(rf"\b(?:def|class) {name}\b", text), (path, name)


def test_each_setting_is_one() -> None:
    for setting in set(re.findall(r"\bFLL_[A-Z_]+\b", PAGE)):
        assert f"| `{setting}` |" in CONFIGURATION, setting


def test_the_open_paths_are_listed() -> None:
    assert all(f"`{path}`" in PAGE for path in OPEN_PATHS)
