"""Who answers: the store or the server that the options name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fll_hbase import config
from fll_hbase.cli import stores
from fll_hbase.cli.clock import now_ms
from fll_hbase.client.http import Server
from fll_hbase.client.http_queries import ServerSide
from fll_hbase.client.local import StoreSide
from fll_hbase.client.queries import Side

PATIENCE_SECONDS = 5.0
"""How long a question waits for a server that does not answer; people ask again."""


@contextmanager
def opened(store: str | None, server: str | None) -> Iterator[Side]:
    """The side to ask, closed afterwards. Raises ConfigurationError or StoreUnavailable."""
    if server is not None:
        client = Server(server, patience_seconds=PATIENCE_SECONDS)
        try:
            yield ServerSide(client)
        finally:
            client.close()
        return
    settings = config.from_environment(store=store)
    with stores.opened(settings, new=False) as own:
        yield StoreSide(own, now_ms=now_ms(), end_points_max=settings.search_end_points_max)
