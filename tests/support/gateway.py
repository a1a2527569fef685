"""A stand-in for a Thrift gateway of HBase, in a process of its own that tests can stop: `gateway.py PORT`.

It has one empty table, takes every put and keeps none: enough to see how the API waits for it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from happybase.connection import Hbase
from Hbase_thrift import ColumnDescriptor
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.server import TThreadedServer
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransportFactory, TServerSocket

from fll_hbase.tables.hbase_schema import FAMILIES, FOREVER_SECONDS

PROGRAM = Path(__file__)


class EmptyTable:
    """The calls of HBase's Thrift service that the store makes."""

    def getColumnDescriptors(self, table: bytes) -> dict[bytes, ColumnDescriptor]:
        return {
            f"{family}:": ColumnDescriptor(
                name=f"{family}:",
                maxVersions=1,
                compression="NONE",
                bloomFilterType="ROW",
                blockCacheEnabled=True,
                timeToLive=FOREVER_SECONDS,
            )
            for family in FAMILIES
        }

    def scannerOpenWithScan(self, *_: Any) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        """Return the answer of every other call: no rows, or nothing."""
        return lambda *_: [] if name.startswith(("getRow", "scannerGet")) else None


def main() -> None:
    """Serve until the process is killed."""
    server = TThreadedServer(
        TProcessor(Hbase, EmptyTable()),
        TServerSocket("127.0.0.1", int(sys.argv[1]), client_timeout=None),
        iprot_factory=TBinaryProtocolFactory(),
        itrans_factory=TBufferedTransportFactory(),
        daemon=True,
    )
    server.serve()


if __name__ == "__main__":
    main()
