"""The generated pages of the reference are those that the code makes."""

from __future__ import annotations

import pytest

from fll_hbase import recorder
from fll_hbase.client.connection import Connection
from tools import reference_pages


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return reference_pages.pages()


@pytest.mark.parametrize("name", ["commands.md", "routes.md", "python-api.md", "changelog.md"])
def test_pages_are_current(name: str, generated: dict[str, str], request: pytest.FixtureRequest) -> None:
    page = reference_pages.FOLDER / name
    if request.config.getoption("--update"):
        page.write_text(generated[name], encoding="utf-8")
    assert page.read_text(encoding="utf-8") == generated[name]


def test_commands_of_groups_have_sections(generated: dict[str, str]) -> None:
    titles = [line[4:] for line in generated["commands.md"].splitlines() if line.startswith("### ")]
    assert {"fll serve", "fll spark load", "fll tag set", "fll store check"} <= set(titles)
    assert len(titles) == len(set(titles)) > 50


def test_parameters_of_a_route_are_listed_once(generated: dict[str, str]) -> None:
    section = generated["routes.md"].partition("fields/{field}/reach`")[2].partition("\n### ")[0]
    assert section.count("| `namespace` | path |") == 1
    assert "| `start` | query |" in section


def test_each_method_and_each_class_of_the_recorder_is_listed(generated: dict[str, str]) -> None:
    page = generated["python-api.md"]
    assert [name for name in recorder.__all__ if f".{name}\n" not in page] == []
    for name in ("programs", "reach", "consumption"):
        assert hasattr(Connection, name)
        assert f"| `{name}` |" in page


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a | b", "a \\| b"),
        ("`<a|b>`", "<code>&lt;a&#124;b&gt;</code>"),
        ("<b>\n  c", "\\<b\\> c"),
        ("NS/NAME", "NS/NAME"),
    ],
)
def test_no_text_ends_a_cell(text: str, cell: str) -> None:
    assert list(reference_pages._table(("x",), [(text,)]))[1] == f"| {cell} |"
