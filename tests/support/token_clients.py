"""Clients of an app that authenticates, over a table that can be away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.model.access import Grant, Role
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables.sqlite import SqliteTable

EVERYTHING = [Grant(Role.ADMIN, "*")]
LISTS = "/v3/namespaces"


class RemoteTable(SqliteTable):
    """A table as on another machine: reads are counted, and fail while it is away."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.is_away = False
        self.reads = 0

    def rows(self, *arguments: Any, **options: Any) -> Any:
        """Return rows, one for a `get`, too."""
        self.reads += 1
        if self.is_away:
            raise StoreUnavailable("the table is away")
        return super().rows(*arguments, **options)


def app_of(table: SqliteTable, **settings: Any) -> Flask:
    """An app that takes tokens, unless the settings say otherwise."""
    return create_app(LineageStore(table), Settings(**{"auth": "tokens", **settings}))


def new_token(table: SqliteTable, grants: Any = None, **options: Any) -> tuple[str, str]:
    """The id and the text of a token with all rights, or these."""
    access = LineageStore(table).access
    stored, secret = access.create_token("test", grants or EVERYTHING, **options)
    return stored.id, secret.text()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def status(client: FlaskClient, token: str, path: str = LISTS, **options: Any) -> int:
    """The status of an answer to a request with a token."""
    return client.get(path, headers=bearer(token), **options).status_code
