"""Where do documents go: into a store of this process, or to a server."""

from __future__ import annotations

import json
from typing import Any, Protocol

from fll_hbase.client import errors
from fll_hbase.client.http import Server
from fll_hbase.errors import LineageError
from fll_hbase.recorder.results import Recorded
from fll_hbase.sources import cdap
from fll_hbase.sources.native import document
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

SERVER_SCHEMES = ("http://", "https://")
PIPELINE = "config"
"""The member that a document of a pipeline has."""


class Door(Protocol):
    """Takes documents of the REST contract; raises LineageError."""

    def record(self, said: dict[str, Any], *, namespace: str) -> Recorded:
        """Store one document durably."""

    def close(self) -> None:
        """Give back what the door opened."""


def opened(store_or_url: LineageStore | str, patience_seconds: float) -> Door:
    """The door that a store or URL means. Raises ConfigurationError for any other URL, StoreUnavailable."""
    if isinstance(store_or_url, LineageStore):
        return StoreDoor(store_or_url, owned=False)
    if store_or_url.startswith(SERVER_SCHEMES):
        return ServerDoor(Server(store_or_url, patience_seconds=patience_seconds))
    return StoreDoor(LineageStore(open_table(store_or_url)), owned=True)


class StoreDoor:
    """A store of this process; closed here if `owned`."""

    def __init__(self, store: LineageStore, *, owned: bool) -> None:
        self._store = store
        self._owned = owned

    def record(self, said: dict[str, Any], *, namespace: str) -> Recorded:
        read = cdap.read_document if PIPELINE in said else document.read
        reading = read(said, namespace=namespace)
        (answer,) = self._store.record([reading.recorded])
        if isinstance(answer, LineageError):
            raise answer
        return Recorded(answer.run, answer.checksum, answer.recorded, answer.replaced, reading.warnings)

    def close(self) -> None:
        if self._owned:
            self._store.close()


class ServerDoor:
    """A server of the REST contract."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def record(self, said: dict[str, Any], *, namespace: str) -> Recorded:
        route = "pipelines" if PIPELINE in said else "lineage"
        told = self._server.record(json.dumps(said).encode(), namespace=namespace, route=route)
        return Recorded(
            run=told["run"],
            checksum=told["checksum"],
            recorded=told["recorded"],
            replaced=told.get("replaced", False),
            warnings=errors.faults(told.get("warnings", ())),
        )

    def close(self) -> None:
        self._server.close()
