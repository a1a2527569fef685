"""A real server for the events of captured jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.capture.lineage_server import Lineage
from tests.support.commands import serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    home = tmp_path_factory.mktemp("server")
    with serving(f"sqlite:///{home}/store.db", home) as url:
        yield Lineage(url)
