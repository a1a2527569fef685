"""A folder of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the store of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLL_STORE", raising=False)
