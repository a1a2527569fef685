"""Opens the client of a store in this process, or of a server, by URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from fll_hbase.client.connection import Connection
from fll_hbase.client.remote.remote_client import HttpClient
from fll_hbase.runtime import config
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


def open_client(
    store_or_url: LineageStore | str,
    *,
    settings: Settings | None = None,
    timeout_seconds: float = 60.0,
    clock: Callable[[], int] = now_ms,
    create: bool = True,
) -> Connection:
    """Return the client of an open store, or of the store or server at a URL.

    For a server, `timeout_seconds` limits the retries of one request, and `settings` give the token (default:
    FLL_TOKEN). For a store, `settings` give the limits (default: built in, without FLL_* variables), `clock`
    returns the time of queries in milliseconds since 1970, and `create` allows a SQLite file that does not
    exist yet. Raises ConfigurationError for an invalid token or variable, any other URL, a missing file or
    a store of an earlier release, and StoreUnavailable if the store does not answer. A server is not asked.
    """
    # Closing the client closes a store that was opened here. An open store belongs to the caller.
    if isinstance(store_or_url, str) and store_or_url.startswith(config.SERVER_SCHEMES):
        token = (settings or config.from_environment()).token
        return HttpClient(store_or_url, timeout_seconds=timeout_seconds, token=token)
    # Imported here, because the client of a server needs no store.
    from fll_hbase.client.local.local_client import LocalClient
    from fll_hbase.store.factory import open_store

    if not isinstance(store_or_url, str):
        return LocalClient(store_or_url, settings=settings or Settings(), clock=clock)
    settings = replace(settings or Settings(), store=store_or_url)
    return LocalClient(open_store(settings, create=create), settings=settings, clock=clock, owned=True)


def connect(url: str, *, timeout_seconds: float = 60.0) -> Connection:
    """Return a client of the store or server at a URL: `sqlite:///…`, `hbase://…`, `http://host:port`.

    Answers and errors are the same for a store and a server. For a store, the FLL_* variables set the limits,
    and a SQLite file must exist. For a server, FLL_TOKEN is sent with each request, and `timeout_seconds`
    limits the retries of one request; the first query connects. Close the client, or use it in a `with`
    block. Raises ConfigurationError for invalid FLL_* variables, any other URL, a missing file or a store of
    an earlier release, and StoreUnavailable if the store does not answer.

        with connect("sqlite:///data/field_level_lineage.db") as client:
            frame = client.programs("bank", "DailyTransactions", field="UID").to_pandas()
    """
    settings = config.from_environment()
    return open_client(url, settings=settings, timeout_seconds=timeout_seconds, create=False)
