"""Worker processes start with different gateways: those of Spark are forks of one process."""

from __future__ import annotations

import multiprocessing
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.tables.hbase_url import GatewayAddress
from fll_hbase.tables.thrift_pool import ThriftPool

PROCESSES = 32


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.recv(1_000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.fixture
def addresses() -> Iterator[list[GatewayAddress]]:
    """Two servers that are no gateways: the error of a call names the one that was called."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    for listening in sockets:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
    yield [GatewayAddress("127.0.0.1", listening.getsockname()[1]) for listening in sockets]
    for listening in sockets:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _first_gateway(addresses: list[GatewayAddress]) -> str:
    """The address that the first call of a process goes to."""
    pool = ThriftPool(addresses, timeout_seconds=5.0, connections_max=1)
    with pytest.raises(ConfigurationError) as caught:
        pool.run(lambda connection: connection.tables())
    return re.match(r"\S+", str(caught.value))[0]  # type: ignore[index]


@pytest.mark.slow
def test_forked_processes_start_with_different_gateways(addresses: list[GatewayAddress]) -> None:
    with multiprocessing.get_context("fork").Pool(4, maxtasksperchild=1) as processes:
        called = Counter(processes.map(_first_gateway, [addresses] * PROCESSES, chunksize=1))
    assert called.total() == PROCESSES
    assert set(called) == {str(address) for address in addresses}
