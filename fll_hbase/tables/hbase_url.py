"""Where is a table of HBase: the gateways and the table that a store URL names."""

from __future__ import annotations

import re
from typing import NamedTuple

from fll_hbase.errors import ConfigurationError

SCHEME = "hbase://"
FORM = "hbase://host:9090[,host2:9090...]/table"
PORT = 9090
_ADDRESS = re.compile(r"([A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_TABLE = re.compile(r"(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Address(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Place(NamedTuple):
    """A table, and the gateways that lead to it."""

    gateways: tuple[Address, ...]
    table: str


def parsed(url: str) -> Place:
    """The place that a store URL names. Raises ConfigurationError for any other URL."""
    hosts, _, table = url.removeprefix(SCHEME).partition("/")
    found = [_ADDRESS.fullmatch(host) for host in hosts.split(",")]
    addresses = tuple(Address(match[1], int(match[2] or PORT)) for match in found if match)
    if not url.startswith(SCHEME) or len(addresses) < len(found) or not _TABLE.fullmatch(table):
        raise ConfigurationError(f"store URL {url!r} names no table of HBase; it looks like {FORM}")
    return Place(addresses, table)
