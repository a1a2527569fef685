"""Prints what attacks do to others and to memory: `python -m tests.attacks.measure SECONDS [NAME …]`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fll_hbase.model.access import Role
from tests.support.attacks import ATTACKS, CROWDS, NAMESPACES, Attackers, prepare
from tests.support.granted_server import GrantedServer, granted_server
from tests.support.others import SHOP, Others, Times

SIZE = 15_000_000
"""Bytes of large documents: FLL_DOCUMENT_BYTES_MAX is 16 MiB."""

WORKERS = 2


def measure(folder: Path, name: str, seconds: float) -> str:
    """Attack a new server; return a line of the table."""
    with granted_server(folder, workers=WORKERS) as server:
        other = server.token((Role.READER, SHOP), (Role.RECORDER, SHOP), name="other")
        token = attacker(server, name, SIZE)
        alone, beside = Others(server.port, other), Others(server.port, other)
        with Attackers(name, server.port, token, SIZE) as attackers:
            Others(server.port, other).run(1)
            alone.run(seconds / 2)
            memory = server.peak_memory_mb()
            attackers.begin()
            Others(server.port, other).run(1)
            beside.run(seconds)
        cells = [name]
        for lone, attacked in ((alone.documents, beside.documents), (alone.questions, beside.questions)):
            cells += [_ms(lone), _ms(attacked), f"{attacked.worst / lone.worst:.1f}"]
        refused = sum(times.refused for times in (beside.documents, beside.questions))
        cells += [str(refused), str(memory), str(server.peak_memory_mb())]
        print(f"{name}: {dict(attackers.answers)}", file=sys.stderr)
        return f"| {' | '.join(cells)} |"


def _ms(times: Times) -> str:
    return f"{1000 * times.worst:.0f}"


RIGHTS = [(role, namespace) for namespace in NAMESPACES for role in (Role.READER, Role.RECORDER)]
"""Of the attackers."""

HEAD = """\
| attack | documents, ms | attacked | times | questions, ms | attacked | times | refused | MiB | attacked |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def attacker(server: GrantedServer, name: str, size: int) -> str:
    """Record what the attackers ask for; return their token, which has few rights."""
    token = server.token(*RIGHTS, name="attacker")
    for request in prepare(size):
        encoding = {"Content_Encoding": request.encoding}
        answer = server.send(token, request.method, request.target, request.body, **encoding)
        assert answer.status in (200, 201), answer
    if name in ATTACKS and not ATTACKS[name].has_right:
        return server.token((Role.READER, "elsewhere"), name="without")
    return token


if __name__ == "__main__":
    print(HEAD)
    for chosen in sys.argv[2:] or [*ATTACKS, *CROWDS]:
        with TemporaryDirectory() as directory:
            print(measure(Path(directory), chosen, float(sys.argv[1])), flush=True)
