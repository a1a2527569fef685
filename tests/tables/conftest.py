"""Fixtures: a table of each engine under the contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.tables import Table, open_table
from tests.support.engines import Hbase


@pytest.fixture(params=["file", "memory", "hbase"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    """An empty table of each engine."""
    if request.param == "hbase":
        url = request.getfixturevalue("hbase").emptied()
    else:
        url = f"sqlite:///{tmp_path / 'cells.db' if request.param == 'file' else ':memory:'}"
    with closing(open_table(url)) as opened:
        yield opened


@pytest.fixture(params=["file", "hbase"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh table of each engine that several processes can open."""
    if request.param == "hbase":
        hbase: Hbase = request.getfixturevalue("hbase")
        return hbase.fresh()
    return f"sqlite:///{tmp_path / 'cells.db'}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a fresh SQLite table may be."""
    return tmp_path / "cells.db"
