"""Streams in the session's Spark, over a folder, store, checkpoint and rejects of one test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs import stream
from fll_hbase.spark.jobs.stream import StreamPaths, Trigger
from fll_hbase.spark.lines.worker_ingest import Target
from fll_hbase.spark.stats import BatchReport
from fll_hbase.spark.streams.stream_options import FolderOptions, SourceOptions
from fll_hbase.spark.streams.stream_rejects import Rejection
from fll_hbase.spark.streams.stream_sources import StreamSource, open_source


def files_below(folder: Path) -> dict[str, bytes]:
    """The contents of all files below a folder, by path."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class _ObservedSource:
    """A source that calls a function when a batch is recorded."""

    def __init__(self, source: StreamSource, call: Callable[[], None]) -> None:
        self._source = source
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def lines(self, batch: DataFrame) -> DataFrame:
        self._call()
        return self._source.lines(batch)


class StreamSetup:
    """The folder, store, checkpoint and rejects of one test."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        self.home = home
        self.spark = spark
        self.folder = home / "incoming"
        self.url = f"sqlite:///{home}/store.db"
        self.other_url = f"sqlite:///{home}/online.db"
        self.checkpoint = home / "checkpoint"
        self.rejects = home / "rejects"
        self.stop = Event()

    def drain(
        self,
        *,
        files_max: int = 1,
        url: str = "",
        namespace: str = "",
        folder: Path | str = "",
        source: SourceOptions | None = None,
        checkpoint: Path | str = "",
        rejects: Path | str = "",
        in_batch: Callable[[], None] = lambda: None,
        rejection: Rejection = stream.NO_REJECTION,
        **settings: Any,
    ) -> list[BatchReport]:
        """Record all files of the folder or the source; empty arguments are those of the setup."""
        reports: list[BatchReport] = []
        options = source or FolderOptions(str(folder or self.folder), files_max)
        target = Target(Settings(store=url or self.url, **settings), namespace)
        opened = open_source(options, bytes_max=target.settings.document_bytes_max)
        stream.stream(
            self.spark,
            _ObservedSource(opened, in_batch),
            target,
            paths=StreamPaths(str(checkpoint or self.checkpoint), str(rejects or self.rejects)),
            trigger=Trigger(once=True),
            report=reports.append,
            stop=self.stop,
            rejection=rejection,
        )
        return reports

    def commit(self, number: int) -> None:
        """Commit a batch in the checkpoint as another stream does."""
        (self.checkpoint / "commits" / f"{number}").write_text('v1\n{"nextBatchWatermarkMs":0}')

    def forget_commit(self, number: int) -> None:
        """Leave the checkpoint as if the stream had died after a batch was recorded, but not committed."""
        for name in (f"{number}", f".{number}.crc"):
            (self.checkpoint / "commits" / name).unlink()
