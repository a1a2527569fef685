"""Fixtures of all fault tests: a path for a store, and a way to report figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.clients import abandon_all


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "lineage.db"


@pytest.fixture(autouse=True)
def no_client_left() -> Iterator[None]:
    """No client outlives its test."""
    yield
    abandon_all()


@pytest.fixture
def report(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, str], None],
) -> Callable[[str], None]:
    """Print a line, captured output or not, and keep it in the report."""

    def line(text: str) -> None:
        record_property("faults", text)
        with capsys.disabled():
            print(f"\n{request.node.name}: {text}")

    return line
