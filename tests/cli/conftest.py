"""A server that tests write to, and a folder of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import serving


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the store of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLL_STORE", raising=False)


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that tests write to, each under names of its own."""
    home = tmp_path_factory.mktemp("written")
    with serving(f"sqlite:///{home}/store.db", home) as url:
        yield url


@pytest.fixture(params=["store", "server"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Where to record, as options."""
    if request.param == "store":
        return ("--store", f"sqlite:///{tmp_path}/store.db")
    return ("--server", request.getfixturevalue("open_server"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test has, for runs and end points."""
    return str(request.node.name)
