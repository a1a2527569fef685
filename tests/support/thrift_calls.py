"""Count the calls to Thrift gateways, and how often a client waits for them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from thriftpy2.thrift import TClient


@dataclass
class ThriftCalls:
    """Calls by name, and waits: replies received right after a call was sent on the same connection."""

    calls: Counter[str] = field(default_factory=Counter)
    waits: int = 0


@contextmanager
def count_thrift_calls() -> Iterator[ThriftCalls]:
    """Count the calls of all threads of this process."""
    counted, lock, sending = ThriftCalls(), threading.Lock(), set[int]()
    send, receive = TClient._send, TClient._recv

    def count_send(self: TClient, api: str, **arguments: Any) -> None:
        with lock:
            counted.calls[api] += 1
            sending.add(id(self))
        send(self, api, **arguments)

    def count_receive(self: TClient, api: str) -> Any:
        with lock:
            counted.waits += id(self) in sending
            sending.discard(id(self))
        return receive(self, api)

    TClient._send, TClient._recv = count_send, count_receive
    try:
        yield counted
    finally:
        TClient._send, TClient._recv = send, receive
