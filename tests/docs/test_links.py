"""Links between the pages lead to files and headings that exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "docker", "tests", "bench", "api", "fll_hbase")
ROOMS = (
    *(
        "",
        "fll_hbase",
        "fll_hbase/spark",
        "fll_hbase/capture",
        "fll_hbase/store",
        "fll_hbase/client",
        "fll_hbase/cli",
    ),
    *("api", "page/src", "tests/golden/http"),
)
"""Folders that paths in the text begin in."""

SOURCE = "https://github.com/fll-hbase/fll_hbase/blob/main/"

GENERATED = {"target", "node_modules", "data"}

_CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"(`+)[^`].*?\1")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def pages() -> list[Path]:
    """Return all Markdown pages of the repository, without those that builds generate."""
    below = [page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")]
    return [page for page in sorted([*ROOT.glob("*.md"), *below]) if not GENERATED & set(page.parts)]


def internal_links(page: Path) -> Iterator[str]:
    """Yield the targets of the page's links inside the repository.

    Pages of docs/ link to files outside of it by the address of the repository: the site has docs/ alone.
    """
    prose = _CODE_SPAN.sub("", _CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    for target in _LINK.findall(prose):
        if target.startswith(SOURCE):
            yield os.path.relpath(ROOT / target.removeprefix(SOURCE), page.parent)
        elif not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page; repeated ones end in -1, -2, ..."""
    counts: dict[str, int] = {}
    result = set()
    for heading in _HEADING.findall(_CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        text = _LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = counts[anchor] = counts.get(anchor, -1) + 1
        result.add(f"{anchor}-{count}" if count else anchor)
    return result


def is_broken(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    linked = (page.parent / path).resolve() if path else page
    if not linked.exists():
        return True
    return bool(anchor) and (linked.suffix != ".md" or anchor not in anchors(linked))


def test_pages_named_in_code_exist() -> None:
    modules = [path for folder in ("api", "fll_hbase") for path in (ROOT / folder).rglob("*.py")]
    names = {name for path in modules for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text())}
    assert names
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", ["architecture.md", "contributing.md"])
def test_files_and_folders_exist(page: str) -> None:
    text = (ROOT / "docs" / "develop" / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`([a-z][\w./-]*/[\w.-]*)`", text))
    assert paths
    # What `make` writes is there after it.
    lasting = [path for path in sorted(paths) if not path.startswith("build/")]
    assert [path for path in lasting if not any((ROOT / room / path).exists() for room in ROOMS)] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [target for target in internal_links(page) if is_broken(page, target)] == []


def test_links_are_found() -> None:
    assert sum(len(list(internal_links(page))) for page in pages()) > 50


@pytest.mark.parametrize(
    "target", ["nowhere.md", "#nowhere", "../operate/hbase.md#nowhere", "../../setup.cfg#nowhere"]
)
def test_broken_links_are_reported(target: str) -> None:
    assert is_broken(ROOT / "docs" / "reference" / "row-keys.md", target)
