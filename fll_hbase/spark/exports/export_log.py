"""Log of incremental exports: a file for each batch in the directory STATE, which is also its manifest.

A batch is committed when its file exists, and published when a second file exists. The directory also keeps
the rows exported in the time that the next batch reads again, so that no row is exported twice.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.hadoop_files import TEMPORARY, HadoopDirectory

_IDENTITY = "log"
_BATCH = re.compile(r"batch-([0-9]{8})\.json")
_ATTEMPT = re.compile(r"_(?:stage|seen)-([0-9]{8})-[0-9a-f]{32}")
_OURS = re.compile(
    rf"log|batch-[0-9]{{8}}\.(json|published)|_(stage|seen)-[0-9]{{8}}-[0-9a-f]{{32}}|\.?{TEMPORARY}.*|\..*\.crc"
)


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """The store and the place and format of its export, which all batches of a log have in common."""

    store: str
    out: str
    format: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch: all commit records put from `since_ms` on, and numbers of rows and files by table.

    The next batch begins at `until_ms`. `log` identifies the directory, `attempt` the process that wrote it.
    """

    number: int
    log: str
    attempt: str
    target: ExportTarget
    since_ms: int
    until_ms: int
    rows: Mapping[str, int]
    files: Mapping[str, int]
    version: str
    started: str

    @property
    def stage(self) -> str:
        """Return the name of the directory in which the batch is prepared."""
        # Readers of the tables ignore names that begin with `_`.
        return f"_stage-{self.number:08d}-{self.attempt}"

    @property
    def seen(self) -> str:
        """Return the name of the directory with the rows that later batches must not export again."""
        return f"_seen-{self.number:08d}-{self.attempt}"


class ExportLog:
    """The batches of a directory, which is listed once, when the log is opened, and may be absent.

    Methods raise ConfigurationError, the constructor for a name that is not of an export.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path.rstrip("/")
        self._directory = HadoopDirectory(spark, path)
        self._names = sorted(self._directory.names())
        foreign = [name for name in self._names if not _OURS.fullmatch(name)]
        if foreign:
            raise ConfigurationError(
                f"{path!r} contains {foreign[0]!r}, which is not of an export; use an empty directory"
            )

    def identity(self) -> str:
        """Return the random name of the log, which the first call creates in the directory."""
        self._directory.create_file(_IDENTITY, uuid.uuid4().hex)
        return self._directory.read(_IDENTITY).decode()

    def last(self) -> Batch | None:
        """Return the last batch that was committed when the log was opened, or None before the first."""
        numbers = [int(match[1]) for name in self._names if (match := _BATCH.fullmatch(name))]
        return self._read(max(numbers)) if numbers else None

    def commit(self, batch: Batch) -> None:
        """Commit a prepared batch. Raises ConfigurationError if another process was faster."""
        text = json.dumps({"job": "export", **asdict(batch)}, indent=1)
        if not self._directory.create_file(f"batch-{batch.number:08d}.json", text):
            raise ConfigurationError(
                f"another export wrote batch {batch.number} of {self.path} at the same time; nothing is lost:"
                " start this one again"
            )

    def is_published(self, batch: Batch) -> bool:
        """Return whether a batch had been published when the log was opened."""
        return f"batch-{batch.number:08d}.published" in self._names

    def set_published(self, batch: Batch) -> None:
        """Record in the directory that a batch was published, unless that is recorded already."""
        self._directory.create_file(f"batch-{batch.number:08d}.published", "")

    def _read(self, number: int) -> Batch:
        """Return the committed batch with a number. Raises ConfigurationError for a file of another form."""
        name = f"batch-{number:08d}.json"
        try:
            return typed_json.decode(self._directory.read(name), Batch)
        except ValueError as error:
            raise ConfigurationError(f"{self.path}/{name} is not the file of a batch: {error}") from error


def remove_attempts(spark: SparkSession, directory: str, batch: Batch) -> None:
    """Remove stages and seen rows of attempts at a published or earlier batch, except its seen rows."""
    files = HadoopDirectory(spark, directory)
    for name in list(files.names()):
        match = _ATTEMPT.fullmatch(name)
        if match and int(match[1]) <= batch.number and name != batch.seen:
            files.delete_tree(name)
