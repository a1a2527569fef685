"""Limits of each client in this process: requests a second, bytes a minute, and concurrent queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Condition, Lock
from typing import TYPE_CHECKING, TypeAlias

from werkzeug.wsgi import ClosingIterator

from fll_hbase.model.access import Principal
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import TooManyRequests

from ..wire.bodies import body_bytes
from ..wire.budget import is_read
from ..wire.environ import COUNT_BYTES, IS_ALONE, PRINCIPAL, peer
from ..wire.problems import refuse
from .authentication import is_open
from .buckets import TokenBuckets

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BURST_SECONDS = 10
"""Seconds' worth of requests that may come at once, since a page sends many together."""

Client: TypeAlias = tuple[str, str]
"""A kind and a name, so that a principal is never confused with an address."""

ALONE_MAX = 2
"""Parts of batches that a client records at a time while no other client is active."""


class Turns:
    """Turns of the batches of each client: a client records one part of a batch at a time.

    More parts at once would take the processor and the table from other clients. A client that is alone
    records ALONE_MAX parts at a time: the server reads one while the table writes another.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._running: Counter[Client] = Counter()

    @contextmanager
    def hold(self, environ: WSGIEnvironment) -> Iterator[None]:
        """Wait, without a time limit, for a turn of the client of a request, and hold it inside the block."""
        client = client_of(environ)
        is_alone: Callable[[], bool] = environ.get(IS_ALONE, bool)
        with self._changed:
            while (running := self._running[client]) and not (running < ALONE_MAX and is_alone()):
                self._changed.wait()
            self._running[client] += 1
        try:
            yield
        finally:
            with self._changed:
                # Removes a client without running batches, so the counter does not grow.
                self._running -= Counter([client])
                self._changed.notify_all()


def with_limits(app: WSGIApplication, settings: Settings) -> WSGIApplication:
    """Return the app with the limits of the settings, or the app itself if there are none."""
    is_limited = settings.rate_requests or settings.rate_bytes or settings.questions_max
    return RequestLimits(app, settings) if is_limited else app


class RequestLimits:
    """WSGI middleware that answers 429 to a client beyond its limits."""

    def __init__(self, app: WSGIApplication, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        rate = settings.rate_requests
        self._requests = TokenBuckets(per_second=rate, burst=rate * BURST_SECONDS) if rate else None
        size = settings.rate_bytes
        self._bytes = TokenBuckets(per_second=size / 60, burst=size) if size else None
        self._lock = Lock()
        self._running: Counter[Client] = Counter()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_open(environ):
            return self._app(environ, start_response)
        client = client_of(environ)
        try:
            self._take_rates(environ, client)
            end = self._begin_query(environ, client)
        except TooManyRequests as error:
            return refuse(environ, start_response, error, retry_after_seconds=0)
        if end is None:
            return self._app(environ, start_response)
        try:
            answer = self._app(environ, start_response)
        except BaseException:
            end()
            raise
        # A query runs until its answer is complete: long answers are produced while they are sent.
        return ClosingIterator(answer, end)

    def _take_rates(self, environ: WSGIEnvironment, client: Client) -> None:
        """Take a request and its bytes from the client's rates. Raises TooManyRequests.

        The additional bytes of a decompressed body are counted while it is read (see COUNT_BYTES).
        """
        if self._requests is not None:
            rate = f"{self._settings.rate_requests} requests a second"
            _require(self._requests.take(client), rate)
        if self._bytes is not None and (size := body_bytes(environ)):
            environ[COUNT_BYTES] = partial(self._bytes.charge, client)
            _require(self._bytes.take(client, size), f"{self._settings.rate_bytes} bytes a minute")

    def _begin_query(self, environ: WSGIEnvironment, client: Client) -> Callable[[], None] | None:
        """Count a query; return a function that ends it, None for other requests. Raises TooManyRequests."""
        most = self._settings.questions_max
        if not most or not is_read(environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")):
            return None
        with self._lock:
            if self._running[client] >= most:
                raise TooManyRequests(f"{most} questions of this client are being answered; try again later")
            self._running[client] += 1
        return lambda: self._end_query(client)

    def _end_query(self, client: Client) -> None:
        """Count the end of a query of a client."""
        with self._lock:
            # Removes a client without running queries, so the counter does not grow.
            self._running -= Counter([client])


def _require(seconds: float, rate: str) -> None:
    """Raise TooManyRequests, which names the rate, unless the time to wait is 0."""
    if seconds:
        wait = math.ceil(seconds)
        raise TooManyRequests(
            f"more than {rate} of this client; try again in {wait} s", retry_after_seconds=wait
        )


def client_of(environ: WSGIEnvironment) -> Client:
    """Return the client of a request for limits: its principal, or else its address (see `peer`)."""
    principal: Principal | None = environ.get(PRINCIPAL)
    return ("address", peer(environ)) if principal is None else ("principal", principal.digest)
