"""The embedded store, SQLite, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing

from bench import asking, recording
from bench.report import said
from bench.server import Server
from fll_hbase.tables import open_table


def bench(sizes: Sequence[int]) -> None:
    """Histories of each size, the largest last."""
    largest = sizes[-1]
    with tempfile.TemporaryDirectory() as folder:
        servers = {size: Server(f"sqlite:///{folder}/{size}.db") for size in sizes}
        try:
            for size, server in servers.items():
                recording.ingest(server, size, bar="at least 8,000")
                said(
                    f"bytes a run on disk, {size:,} runs", server.stored_bytes() / size, "B", "at most 1,000"
                )
            asking.window(servers, "30-day question", asking.WINDOW, bar="at most 2", ratio_bar="at most 1.2")
            asking.window(servers, "adversarial window", asking.ADVERSARIAL, bar="at most 5")
            asking.fixed_cost(servers)
            with closing(open_table(servers[largest].store)) as table:
                bare = asking.bare_scan(table)
                said("engine over bare scan", asking.engine(table) / bare, "x", "at most 2")
            recording.singles(servers[sizes[0]], bars=("at least 1,000", "at most 100"))
            said("memory of the server after all that", servers[largest].resident_bytes() / 2**20, "MiB")
        finally:
            for server in servers.values():
                server.stop()
