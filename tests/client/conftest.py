"""A store with the sample, and a server over it, to ask in both ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import serving
from tests.support.sampled_store import load_sampled


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the store of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLL_STORE", raising=False)


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store that nobody writes to."""
    return load_sampled(tmp_path_factory.mktemp("sampled"))


@pytest.fixture(scope="session")
def server(sampled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server over that store."""
    with serving(sampled, tmp_path_factory.mktemp("server")) as url:
        yield url
