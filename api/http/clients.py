"""Clients, identified before their requests begin, so that they can share the threads.

Who is present, and whose requests take the processor for long, decides who waits.
"""

from __future__ import annotations

import hashlib
import math
import threading

from cachetools import LRUCache

from fll_hbase.model.access import Principal

from ..security.limits import Client
from ..wire.environ import network
from .tasks import RequestParser

KNOWN_MAX = 10_000
"""Tokens, and clients with long requests, that are remembered at a time."""

PRESENT_SECONDS = 10.0
"""How long a client counts as present after a request."""

LONG_SECONDS = 0.025
"""Processor time above which a request counts as long. A small document or query takes a tenth of it."""

FADE_SECONDS = 10.0
"""Seconds after which the noted time of long requests has decayed to 1/e."""


class Clients:
    """Identifies clients: by principal once their token was learned, else by address. Threads may share it.

    Addresses are reduced by `network`, as for limits. Behind `proxies` X-Forwarded-For has the address,
    in the entry of the outermost one. Without that entry, the address of the connection counts.
    """

    def __init__(self, *, proxies: int) -> None:
        self._proxies = proxies
        self._by_token: LRUCache[bytes, Client] = LRUCache(KNOWN_MAX)
        self._lock = threading.Lock()

    def client_of(self, request: RequestParser, address: str) -> Client:
        """Return the principal of a learned token, else the network of X-Forwarded-For or `address`."""
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
        """Remember the principal of a request's token; do nothing without a token or a principal."""
        token = request.headers.get("AUTHORIZATION")
        if token and principal is not None:
            with self._lock:
                self._by_token[_digest(token)] = "principal", principal.digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class Presence:
    """When the two latest clients sent their last requests: enough to decide whether one of them is alone."""

    def __init__(self) -> None:
        self._latest: Client | None = None
        self._latest_at = self._earlier_at = -math.inf

    def note(self, client: Client, now: float) -> None:
        """Note a request at `now` (monotonic seconds)."""
        if client != self._latest:
            self._latest, self._earlier_at = client, self._latest_at
        self._latest_at = now

    def is_alone(self, client: Client, now: float) -> bool:
        """Return whether no other client sent a request within PRESENT_SECONDS."""
        other_at = self._earlier_at if client == self._latest else self._latest_at
        return now - other_at > PRESENT_SECONDS


class LongRequests:
    """Decaying processor time beyond LONG_SECONDS that each client's requests took in one lane."""

    def __init__(self) -> None:
        self._clients: LRUCache[Client, tuple[float, float]] = LRUCache(KNOWN_MAX)

    def note(self, client: Client, seconds: float, now: float) -> None:
        """Add an ended request's processor time beyond LONG_SECONDS; note a new client even without any."""
        if seconds > LONG_SECONDS or client not in self._clients:
            self._clients[client] = self._faded(client, now) + max(seconds - LONG_SECONDS, 0.0), now

    def has_long(self, client: Client, now: float) -> bool:
        """Return whether the noted time of a client exceeds LONG_SECONDS, or the client is unknown."""
        return client not in self._clients or self._faded(client, now) > LONG_SECONDS

    def _faded(self, client: Client, now: float) -> float:
        """Return the noted time of a client, decayed until `now`, or 0 for an unknown client."""
        seconds, noted_at = self._clients.get(client, (0.0, now))
        return seconds * math.exp((noted_at - now) / FADE_SECONDS)
