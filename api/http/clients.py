"""Identification of clients before their requests begin, so that they can share the threads."""

from __future__ import annotations

import hashlib
import threading

from cachetools import LRUCache

from fll_hbase.model.access import Principal

from ..security.limits import Client
from ..wire.environ import network
from .tasks import RequestParser

KNOWN_MAX = 10_000
"""Tokens whose principals are remembered at a time."""


class Clients:
    """Identifies clients: by principal once their token was verified, else by address. Threads may share it.

    Addresses are reduced by `network`, as for limits. Behind `proxies` the outermost one provides the
    address.
    """

    def __init__(self, *, proxies: int) -> None:
        self._proxies = proxies
        self._by_token: LRUCache[bytes, Client] = LRUCache(KNOWN_MAX)
        self._lock = threading.Lock()

    def client_of(self, request: RequestParser, address: str) -> Client:
        """Return the client of a request that came from an address."""
        token = request.headers.get("AUTHORIZATION")
        if token:
            with self._lock:
                client = self._by_token.get(_digest(token))
            if client is not None:
                return client
        # An unverified token does not count: its sender could pose as any number of clients.
        forwarded = request.headers.get("X_FORWARDED_FOR", "").split(",")
        if 0 < self._proxies <= len(forwarded):
            address = forwarded[-self._proxies].strip() or address
        return "address", network(address)

    def learn(self, request: RequestParser, principal: Principal | None) -> None:
        """Remember the principal of a request's token, if authentication found one."""
        token = request.headers.get("AUTHORIZATION")
        if token and principal is not None:
            with self._lock:
                self._by_token[_digest(token)] = "principal", principal.digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
