"""A server that takes tokens."""

from __future__ import annotations

import os

from fll_hbase.model.access import Grant, Role
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import open_table
from tests.support.server_process import Server


class TokenServer(Server):
    """`fll serve` that takes tokens, and one of them."""

    token = ""

    def start(self, *, wait: bool = True) -> None:
        """Create a token and start."""
        table = open_table(f"sqlite:///{self.store}")
        self.token = AccessStore(table).create_token("all", [Grant(Role.ADMIN, "*")])[1].text()
        table.close()
        os.environ["FLL_AUTH"] = "tokens"
        try:
            super().start(wait=wait)
        finally:
            del os.environ["FLL_AUTH"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
