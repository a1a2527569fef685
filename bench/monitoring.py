"""Cost of metrics, logs and the observed table: CPU of each, the fastest of five rounds."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from api.observability import exporter
from api.observability.logs import LogFile
from api.observability.observer import AnsweredRequest, RequestObserver
from api.wire.environ import ROUTE
from bench.report import print_figure
from fll_hbase.runtime import metrics
from fll_hbase.tables import open_table
from fll_hbase.tables.observed import ObservedTable, counted

TIMES = 20_000
ENVIRON = {ROUTE: "/v3/namespaces", "REQUEST_METHOD": "GET", "REMOTE_ADDR": "127.0.0.1"}


def bench(sizes: Sequence[int]) -> None:
    """Measure; the sizes of histories do not matter here."""
    with exporter.shared_directory(), TemporaryDirectory() as folder:
        table = open_table("sqlite:///:memory:")
        observed = ObservedTable(table)
        _print("a counter that nothing exports", lambda: metrics.CACHE_HITS.add())
        exporter.connect()
        _print("a counter", lambda: metrics.CACHE_HITS.add())
        _print("metrics of a request", lambda: _silent.observe(_answered()))
        access = RequestObserver(access=LogFile(str(Path(folder) / "access.log")))
        _print("metrics and access log of a request", lambda: access.observe(_answered()))
        question = counted(lambda: observed.get(b"row"))
        plain = _microseconds(lambda: table.get(b"row"))
        print_figure("metrics of a question with one call", _microseconds(question) - plain, "µs")
        print_figure("an answer to /metrics", _microseconds(exporter.exposition, times=200), "µs")
        table.close()


_silent = RequestObserver()


def _answered() -> AnsweredRequest:
    return AnsweredRequest("GET", "200", time.monotonic(), 100, "127.0.0.1", ENVIRON)


def _print(label: str, action: Callable[[], object]) -> None:
    print_figure(label, _microseconds(action), "µs")


def _microseconds(action: Callable[[], object], *, times: int = TIMES) -> float:
    return min(timeit.repeat(action, number=times, repeat=5, timer=time.process_time)) / times * 1e6
