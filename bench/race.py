"""The race between the store and tables that an engineer makes by hand in SQLite, over the same year of runs.

Both answer the same questions in this process with warm caches, and every answer is compared. Times are CPU
times, the fastest of some rounds in turns, because neighbours on a machine would hide differences; times over
HTTP are elapsed. PostgreSQL is left out: this project depends on no driver for it.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from statistics import median

from bench import race_schema
from bench.race_by_hand import ByHand
from bench.race_questions import KINDS, DifferentAnswers, Kind, Question
from bench.race_workload import Shape, Workload
from bench.report import print_figure
from bench.server import Server, call
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import DEFAULTS, Settings
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.factory import open_store
from fll_hbase.store.write.sealing import seal_old_days

QUESTIONS, ROUNDS, BATCH_RUNS = 20, 3, 1_000
GROWTH_MAX = 2


@dataclass(frozen=True, slots=True)
class Competitors:
    """The store and the tables made by hand after the same runs, and the contents of the runs.

    The tables are queried with SQL alone, and by a process that keeps the graph of fields in memory.
    """

    url: str
    client: LocalClient
    connection: sqlite3.Connection
    by_hand: ByHand
    in_memory: ByHand
    contents: Sequence[FieldLineageInfo]


def bench(sizes: Sequence[int]) -> None:
    """Print the times of both for each kind of question at each size; end with an error if answers differ."""
    workload = Workload(Shape())
    medians: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    for size in sizes:
        with (
            tempfile.TemporaryDirectory() as folder,
            record_into_both(workload, size, Path(folder)) as competitors,
        ):
            try:
                for kind in KINDS:
                    medians[kind.name].append(_measure(competitors, kind, workload, size))
                _measure_http(competitors, workload, size)
            except DifferentAnswers as error:
                raise SystemExit(f"the answers differ at {size:,} runs: {error}") from error
    for name, milliseconds in medians.items():
        label = f"{name}, store, p50 at {sizes[-1]:,} runs / at {sizes[-2]:,}"
        print_figure(label, milliseconds[-1] / milliseconds[-2], "x", target=f"at most {GROWTH_MAX}")


@contextmanager
def record_into_both(
    workload: Workload, size: int, folder: Path, *, url: str = "", sealed: bool = True
) -> Iterator[Competitors]:
    """Record `size` runs of a workload into both, and close them at the end of the context.

    Without `url`, the store is in SQLite. With `sealed`, the days of the runs are sealed, as happens some
    hours later in practice.
    """
    url = url or f"sqlite:///{folder / 'store.db'}"
    with (
        closing(open_store(Settings(store=url))) as store,
        closing(race_schema.connect(folder / "by_hand.db")) as connection,
    ):
        recorder = race_schema.Recorder(connection)
        contents: dict[str, FieldLineageInfo] = {}
        runs = workload.runs(size)
        while batch := list(islice(runs, BATCH_RUNS)):
            for result in store.record(batch):
                if isinstance(result, LineageError):
                    raise result
            recorder.record(batch)
            contents.update((run.info.checksum, run.info) for run in batch)
        recorder.finish()
        if sealed:
            # As retention does each night; questions seal what they find unsealed themselves.
            seal_old_days(
                store.table, clock=lambda: now_ms() + 3 * DEFAULTS.grace_ms, grace_ms=DEFAULTS.grace_ms
            )
        yield Competitors(
            url=url,
            client=LocalClient(store),
            connection=connection,
            by_hand=ByHand(connection),
            in_memory=ByHand(connection, caches_graph=True),
            contents=list(contents.values()),
        )


def compare(competitors: Competitors, kind: Kind, questions: Sequence[Question]) -> int:
    """Ask all, which also fills their caches; return the rows of all answers. Raises DifferentAnswers."""
    rows = 0
    for question in questions:
        answer = kind.store_parts(kind.ask_store(competitors.client, question))
        for by_hand in (competitors.by_hand, competitors.in_memory):
            kind.check_equal(question, answer, kind.by_hand_parts(kind.ask_by_hand(by_hand, question)))
        rows += sum(map(len, answer.values()))
    return rows


def _measure(competitors: Competitors, kind: Kind, workload: Workload, size: int) -> float:
    """Print the times of one kind of question; return the store's time in ms. Raises DifferentAnswers."""
    questions = kind.questions(workload, competitors.contents, QUESTIONS)
    rows = compare(competitors, kind, questions)
    label = f"{kind.name}, {size:,} runs"
    print_figure(f"{label}, equal rows of an answer, mean", rows / len(questions), "rows")
    times: list[list[float]] = [
        fastest_ms(
            time.process_time,
            partial(kind.ask_store, competitors.client, question),
            partial(kind.ask_by_hand, competitors.by_hand, question),
            partial(kind.ask_by_hand, competitors.in_memory, question),
        )
        for question in questions
    ]
    store_ms, by_hand_ms, in_memory_ms = (median(turns[number] for turns in times) for number in range(3))
    print_figure(f"{label}, store, p50", store_ms, "ms")
    print_figure(f"{label}, by hand, p50", by_hand_ms, "ms")
    print_figure(f"{label}, store / by hand", store_ms / by_hand_ms, "x", target=f"at most {kind.ratio_max}")
    print_figure(f"{label}, by hand, graph kept in memory, p50", in_memory_ms, "ms")
    print_figure(f"{label}, store / by hand, graph kept in memory", store_ms / in_memory_ms, "x")
    return store_ms


def _measure_http(competitors: Competitors, workload: Workload, size: int) -> None:
    """Print the times over HTTP of the kinds that have a request. Raises DifferentAnswers."""
    # One worker, so that every request finds what the ones before it cached.
    server = Server(competitors.url, workers=1)
    try:
        with closing(server.connect()) as connection:
            for kind in KINDS:
                if kind.path is None:
                    continue
                times = []
                for question in kind.questions(workload, competitors.contents, QUESTIONS):
                    ask = partial(_get, connection, kind.path(question))
                    answer = kind.store_parts(json.loads(ask()))
                    by_hand = kind.by_hand_parts(kind.ask_by_hand(competitors.by_hand, question))
                    kind.check_equal(question, answer, by_hand)
                    times += fastest_ms(time.perf_counter, ask)
                print_figure(f"{kind.name}, {size:,} runs, store over HTTP, p50", median(times), "ms")
    finally:
        server.stop()


def _get(connection: HTTPConnection, path: str) -> bytes:
    status, body = call(connection, "GET", path)
    if status != HTTPStatus.OK:
        raise RuntimeError(f"{path} was answered {status}")
    return body


def fastest_ms(clock: Callable[[], float], *asks: Callable[[], object]) -> list[float]:
    """Return the time of each by a clock in seconds, the fastest of ROUNDS in turns, in ms."""
    fastest = [float("inf")] * len(asks)
    for _ in range(ROUNDS):
        for number, ask in enumerate(asks):
            started = clock()
            ask()
            fastest[number] = min(fastest[number], 1_000 * (clock() - started))
    return fastest
