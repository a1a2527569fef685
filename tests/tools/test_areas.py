"""Areas of tests: a package's folder, or what a change touches."""

from __future__ import annotations

import pytest

from tools import areas


def test_every_area_has_tests() -> None:
    assert {"api", "page", "sources", "store"} <= set(areas.areas())


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("fll_hbase/store/read/reach.py", "tests/store"),
        ("api/routes/search.py", "tests/api"),
        ("page/src/url.ts", "tests/page"),
        ("tests/tools/test_areas.py", "tests/tools/test_areas.py"),
        ("tests/tables/conftest.py", "tests/tables"),
        ("tests/conftest.py", ""),
        ("fll_hbase/runtime/retry.py", "tests/runtime"),
        ("README.md", ""),
    ],
)
def test_the_tests_of_a_file(path: str, tests: str) -> None:
    assert areas.tests_of(path) == tests


def test_a_folder_contains_its_files() -> None:
    paths = ["tests/tools/test_areas.py", "tests/tools", "", "tests/keys", "tests/not_there"]
    assert areas.without_contained(paths) == ["tests/keys", "tests/tools"]


def test_an_unknown_area_is_refused_with_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert areas.main(["stores"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("invalid area 'stores': expected ")
    assert "store, tables, api, page" in output.err


def test_areas_are_printed_as_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert areas.main(["store", "keys"]) == 0
    assert capsys.readouterr().out == "tests/keys tests/store\n"
