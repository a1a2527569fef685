"""One interface to lineage, for a store of this process and for a server.

with open_client("http://lineage:8080") as client:
    answer = client.runs(Dataset("bank", "Accounts"), WindowText("now-1d", "now"), limit=10)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fll_hbase.client.base import Answer, FieldQuery, LineageClient, LineageQuery, WindowText
from fll_hbase.client.http import HttpClient
from fll_hbase.client.local import LocalClient
from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore

__all__ = [
    "Answer",
    "FieldQuery",
    "HttpClient",
    "LineageClient",
    "LineageQuery",
    "LocalClient",
    "WindowText",
    "open_client",
]

SERVER_SCHEMES = ("http://", "https://")


def open_client(
    store_or_url: LineageStore | str,
    *,
    settings: Settings | None = None,
    timeout_seconds: float = 60.0,
    clock: Callable[[], int] = now_ms,
) -> LineageClient:
    """Return the client of an open store, of the URL of a store or of that of a server.

    `timeout_seconds` limits the retries of one request to a server, and is unused for a store; `settings` and
    `clock` are used for a store only. Raises ConfigurationError for another URL, StoreUnavailable.
    """
    settings = settings or Settings()
    # An open store belongs to the caller and stays open when the client is closed; one opened here does not.
    if isinstance(store_or_url, LineageStore):
        return LocalClient(store_or_url, settings=settings, clock=clock)
    if store_or_url.startswith(SERVER_SCHEMES):
        return HttpClient(store_or_url, timeout_seconds=timeout_seconds)
    store = open_store(replace(settings, store=store_or_url))
    return LocalClient(store, settings=settings, clock=clock, owned=True)
