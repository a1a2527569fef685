"""Which engines keep the contract: one fixture per engine; HBase joins here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fll_hbase.tables import Table, open_table


@pytest.fixture(params=["file", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    """A fresh table of each engine."""
    path = tmp_path / "cells.db" if request.param == "file" else ":memory:"
    opened = open_table(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture(params=["file"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh table of each engine that several processes can open."""
    return f"sqlite:///{tmp_path / 'cells.db'}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a fresh SQLite table may be."""
    return tmp_path / "cells.db"
