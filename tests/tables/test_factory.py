"""Store URLs of each engine, and errors for all others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.tables import Put, canonical_url, open_table


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


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("create", [True, False])
def test_the_database_of_another_application_is_refused_and_stays_as_it_is(
    tmp_path: Path, version: int, create: bool
) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (title)")
        connection.execute(f"PRAGMA user_version = {version}")
    content = path.read_bytes()
    with pytest.raises(ConfigurationError, match="belongs to another application"):
        open_table(f"sqlite:///{path}", create=create)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_does_not_exist_is_not_created_where_none_may_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        open_table(f"sqlite:///{tmp_path}/folder/gone.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store_only_where_one_may_be_created(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(ConfigurationError, match="is empty, not a store"):
        open_table(f"sqlite:///{path}", create=False)
    assert path.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [path]
    open_table(f"sqlite:///{path}").close()
    with closing(open_table(f"sqlite:///{path}", create=False)) as table:
        assert table.get(b"a") == {}


def test_memory_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_table("sqlite:///:memory:")) as table:
        table.write([[Put(b"a", b"d:x", b"1")]])
        assert table.get(b"a")
    assert list(tmp_path.iterdir()) == []


def test_equal_stores_have_one_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    for url in ("sqlite:///a.db", f"sqlite:///{tmp_path}/x/../a.db", f"sqlite:///{tmp_path}/link/a.db"):
        assert canonical_url(url) == f"sqlite:///{tmp_path}/a.db"
    assert canonical_url("hbase://b:1,a/t") == canonical_url("hbase://a:9090,b:1/t") == "hbase://a:9090,b:1/t"
    assert canonical_url("hbase://a/t") != canonical_url("hbase://a/u")
    with pytest.raises(ConfigurationError, match="names no engine"):
        canonical_url("mysql://x")
