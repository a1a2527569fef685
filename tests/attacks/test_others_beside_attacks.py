"""Each attack that takes the time of a server: others are answered meanwhile, and memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fll_hbase.model.access import Role
from tests.attacks import measure
from tests.support.attacks import ATTACKS, CROWDS, Attackers
from tests.support.granted_server import GrantedServer, granted_server
from tests.support.others import SHOP, Others
from tests.support.profiles import PROFILE

pytestmark = pytest.mark.slow

MEMORY_MAX_MB = 1_000
SIZE = measure.SIZE if PROFILE == "long" else 400_000
REQUESTS = 200 if PROFILE == "long" else 10
CHOSEN = [*ATTACKS, *CROWDS] if PROFILE == "long" else ["documents that are refused", "questions"]
"""Of most others there are small tests beside this one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantedServer]:
    with granted_server(Path(tmp_path_factory.mktemp("beside"))) as started:
        yield started


@pytest.mark.parametrize("name", CHOSEN)
def test_others_are_answered_and_memory_is_bounded(server: GrantedServer, name: str) -> None:
    other = server.token((Role.READER, SHOP), (Role.RECORDER, SHOP), name="other")
    Others(server.port, other).run(0, requests=1)
    others = Others(server.port, other)
    with Attackers(name, server.port, measure.attacker(server, name, SIZE), SIZE) as attackers:
        attackers.begin()
        others.run(1, requests=REQUESTS)
    for times in (others.documents, others.questions):
        assert times.refused == 0, times.statuses
        assert times.statuses.total() >= REQUESTS
    assert server.peak_memory_mb() < MEMORY_MAX_MB
