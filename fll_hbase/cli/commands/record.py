"""Record documents of a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from fll_hbase import config
from fll_hbase.cli import stores
from fll_hbase.cli.batches import Placed, batches
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.errors import FAILURE
from fll_hbase.cli.options import NAMESPACE, place_options
from fll_hbase.cli.render import progress
from fll_hbase.cli.render.progress import Bar
from fll_hbase.cli.run_options import Script, script_options
from fll_hbase.cli.sinks import Accepted, How, Outcome, ServerSink, Sink, StoreSink
from fll_hbase.client.http import Server
from fll_hbase.config import Settings
from fll_hbase.errors import StoreUnavailable
from fll_hbase.ingest.ndjson import documents
from fll_hbase.sources import name_rules

REFUSED = "refused"
WARNINGS_MAX = 100
"""Different warnings told; a job that gives one gives it in every document."""


@click.command(
    epilog="""\b
Examples:
  fll record runs.ndjson.gz
  fll record run.json --namespace shop --server http://localhost:8080
  fll record --sql nightly.sql --namespace shop --application shop --program nightly
  fll record --pipeline etl.json --namespace shop --application shop --program etl --argument day=monday
""",
)
@click.argument("file", metavar="FILE", type=click.File("rb"))
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help="Of documents that name none.")
@script_options
@place_options
def record(
    *,
    file: BinaryIO,
    namespace: str | None,
    script: Script | None,
    store: str | None,
    server: str | None,
) -> None:
    """Record the documents of FILE, or with `-` of standard input.

    A file holds one JSON document, OpenLineage event or DataHub proposal, or one a line (NDJSON), gzipped or
    not; with --sql it is a script, with --pipeline a pipeline config, which is recorded as one run. Documents
    that are refused are told with their line and every fault, and do not stop the others. Recording a file
    again is
    safe.
    """
    settings = config.from_environment(store=store)
    counts = _Counts()
    with _sink(settings, server) as sink, progress.bar(_size_bytes(file)) as bar:
        bytes_max = settings.document_bytes_max
        lines = script.documents(file, bytes_max) if script else documents(file, bytes_max=bytes_max)
        for batch in batches(lines, namespace=namespace or ""):
            try:
                outcomes = sink.record(batch)
            except StoreUnavailable as error:
                before = f"documents before line {batch[0].line.number} are done: {counts}"
                raise StoreUnavailable(f"{error}; {before}. Record the file again") from error
            for placed, outcome in zip(batch, outcomes, strict=True):
                counts.add(placed, outcome, bar)
            bar.at(_position_bytes(file), str(counts))
    click.echo(str(counts))
    if counts.refused:
        click.get_current_context().exit(FAILURE)


class _Counts:
    """What became of the documents so far; tells of refusals, and of each warning once."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._warned: set[str] = set()

    @property
    def refused(self) -> int:
        return self._numbers[REFUSED]

    def add(self, placed: Placed, outcome: Outcome, bar: Bar) -> None:
        if not isinstance(outcome, Accepted):
            self._numbers[REFUSED] += 1
            bar.tell(f"line {placed.line.number}: refused: {outcome}")
            return
        self._numbers[outcome.how.value] += 1
        for warning in map(str, outcome.warnings):
            self._warn(f"line {placed.line.number}: warning", warning, bar)

    def _warn(self, where: str, warning: str, bar: Bar) -> None:
        if warning in self._warned or len(self._warned) > WARNINGS_MAX:
            return
        self._warned.add(warning)
        many = len(self._warned) > WARNINGS_MAX
        bar.tell(f"{where}: {'there are others, no more are told' if many else warning}")

    def __str__(self) -> str:
        words = [*(how.value for how in How), REFUSED]
        return ", ".join(f"{self._numbers[word]} {word}" for word in words)


@contextmanager
def _sink(settings: Settings, server: str | None) -> Iterator[Sink]:
    rules = name_rules.parsed(settings.name_rules)
    if server is None:
        with stores.opened(settings, new=True) as store:
            yield StoreSink(store, rules, now_ms=now_ms())
        return
    client = Server(server)
    try:
        yield ServerSink(client, rules, now_ms=now_ms())
    finally:
        client.close()


def _size_bytes(file: BinaryIO) -> int | None:
    """The size of a file as it lies there; None for what has none, such as a pipe."""
    try:
        return os.fstat(file.fileno()).st_size or None
    except OSError:
        return None


def _position_bytes(file: BinaryIO) -> int:
    try:
        return file.tell()
    except OSError:
        return 0
