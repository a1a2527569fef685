"""HBase store URLs: Thrift gateways and a table."""

from __future__ import annotations

import re
from typing import NamedTuple

from fll_hbase.runtime.errors import ConfigurationError

SCHEME = "hbase://"
FORM = "hbase://host:9090[,host2:9090...]/table"
PORT = 9090
_ADDRESS = re.compile(r"([A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_TABLE = re.compile(r"(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")


class GatewayAddress(NamedTuple):
    """Host and port of a Thrift gateway."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`."""
        return f"{self.host}:{self.port}"


class HBaseUrl(NamedTuple):
    """A table and the gateways that serve it."""

    gateways: tuple[GatewayAddress, ...]
    table: str


def parse_url(url: str) -> HBaseUrl:
    """Parse `hbase://host[:port][,host[:port]...]/table`, by default with PORT. Raises ConfigurationError."""
    hosts, _, table = url.removeprefix(SCHEME).partition("/")
    matches = [_ADDRESS.fullmatch(host) for host in hosts.split(",")]
    addresses = tuple(GatewayAddress(match[1], int(match[2] or PORT)) for match in matches if match)
    if not url.startswith(SCHEME) or len(addresses) < len(matches) or not _TABLE.fullmatch(table):
        raise ConfigurationError(f"store URL {url!r} is not an HBase table URL; expected {FORM}")
    return HBaseUrl(addresses, table)
