"""The embedded store, SQLite, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing

from bench import hops, queries, recording
from bench.report import print_figure
from bench.server import Server
from fll_hbase.tables import open_table


def bench(sizes: Sequence[int]) -> None:
    """Measure histories of each size, the largest last."""
    largest = sizes[-1]
    with tempfile.TemporaryDirectory() as folder:
        servers = {size: Server(f"sqlite:///{folder}/{size}.db") for size in sizes}
        try:
            for size, server in servers.items():
                recording.measure_batches(server, size, target="at least 8,000")
                run_bytes = server.stored_bytes() / size
                print_figure(f"bytes per run on disk, {size:,} runs", run_bytes, "B", target="at most 1,000")
            queries.measure_window(servers, "30-day query, no day sealed", queries.WINDOW)
            queries.measure_window(servers, "adversarial window", queries.ADVERSARIAL, target="at most 5")
            queries.measure_sealed(servers, target="at most 2", ratio_target="at most 1.2")
            queries.measure_http(servers)
            with closing(open_table(servers[largest].store)) as table:
                queries.measure_store(table)
            with closing(open_table(f"sqlite:///{folder}/hops.db")) as table:
                hops.measure(table)
            recording.measure_singles(servers[sizes[0]], targets=("at least 1,000", "at most 100"))
            print_figure("server memory at the end", servers[largest].resident_bytes() / 2**20, "MiB")
        finally:
            for server in servers.values():
                server.stop()
