"""Store URLs of each engine, and errors for all others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.errors import ConfigurationError
from fll_hbase.tables import Put, open_table


@pytest.mark.parametrize(
    "url",
    [
        "",
        "cells.db",
        "/var/lib/cells.db",
        ":memory:",
        "sqlite",
        "sqlite:",
        "sqlite:///",
        "sqlite://cells.db",
        "sqlite:cells.db",
        "SQLITE:///cells.db",
        "mysql:///cells",
        "file:///cells.db",
    ],
)
def test_another_url_is_refused_with_the_expected_form(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        open_table(url)
    assert repr(url) in str(caught.value)
    assert "sqlite:///path/to/file.db" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_relative_or_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    absolute = tmp_path / "data" / "ü & 100%.db"
    with closing(open_table("sqlite:///data/ü & 100%.db")) as table:
        table.write([[Put(b"a", b"d:x", b"1")]])
    assert absolute.is_file()
    with closing(open_table(f"sqlite:///{absolute}")) as table:
        assert table.get(b"a")


def test_memory_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_table("sqlite:///:memory:")) as table:
        table.write([[Put(b"a", b"d:x", b"1")]])
        assert table.get(b"a")
    assert list(tmp_path.iterdir()) == []
