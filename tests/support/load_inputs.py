"""Input lines of every format, files of them, loads, and the rows that the online path records."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.model.runs import RecordedRun
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.json_types import Json
from fll_hbase.spark.jobs.load import TEXT, load
from fll_hbase.spark.lines.reject_limit import NO_LIMIT, RejectLimit
from fll_hbase.spark.lines.worker_ingest import Target
from fll_hbase.spark.stats import LoadReport
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import datahub_messages, openlineage_events
from tests.support.strategies import recorded_runs
from tests.support.stream_process import Rows, rows, rows_of

RUNS = ("run-1", "run-2", "run|3 🙂")
"""So few that documents replace one another, and runs have both documents and events."""


def run_document(recorded: RecordedRun) -> Json:
    """The document that records a run."""
    run = recorded.run
    members = {
        "application": run.application,
        "version": run.version,
        "type": run.type,
        "program": run.program,
        "run": run.run,
        "startTime": run.start_ms,
        "state": run.state.value,
    }
    operations = acknowledgements.dry_run(recorded.info)["operations"]
    return {"namespace": run.namespace, "run": members, "operations": operations}


_documents = st.builds(
    lambda recorded, run: run_document(replace(recorded, run=replace(recorded.run, run=run))),
    recorded_runs,
    st.sampled_from(RUNS),
)
documents_of_namespace = st.lists(
    _documents.map(lambda document: {name: document[name] for name in ("run", "operations")}),
    min_size=4,
    max_size=12,
)
"""Documents without a namespace, of few runs, in the order in which they are sent."""

_events = st.sampled_from(RUNS).flatmap(openlineage_events.run_events)
_proposals = datahub_messages.aspects.map(datahub_messages.proposal)

histories = st.lists(_documents, min_size=2, max_size=4).flatmap(
    lambda documents: st.lists(st.sampled_from(documents) | _events | _proposals, min_size=8, max_size=24)
)
"""Lines of every format; documents are repeated, also after others of the same run."""


def encode_lines(documents: Sequence[Json]) -> list[bytes]:
    return [json.dumps(document, ensure_ascii=False).encode() for document in documents]


def rows_of_one_call(lines: Sequence[bytes]) -> Rows:
    """The rows of a store that records all lines in one call, whatever program recorded a run before."""
    reader = DocumentReader(columns=lambda _: None)
    table = open_table("sqlite:///:memory:")
    with closing(LineageStore(table)) as store:
        documents = [reader.read(line, detect(line), namespace=None, now_ms=0) for line in lines]
        ingest(store, documents, take_over=True)
        return rows_of(table)


def plain(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def crlf(lines: Sequence[bytes]) -> bytes:
    return b"\r\n".join(lines)


def zstd(lines: Sequence[bytes]) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(plain(lines), asbytes=True)
    return compressed


ENCODERS: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    "1.ndjson": plain,
    "2.ndjson.gz": lambda lines: gzip.compress(plain(lines)),
    "3 of 100%.ndjson": crlf,
    "4.ndjson.zst": zstd,
    "5.ndjson.bz2": lambda lines: bz2.compress(plain(lines)),
}
"""File names in order, with the encoding of their lines."""


def write_files(folder: Path, lines: Sequence[bytes]) -> list[Path]:
    """Write the lines in order to files of every encoding."""
    folder.mkdir(parents=True)
    share = -(-len(lines) // len(ENCODERS))
    for number, (name, encode) in enumerate(ENCODERS.items()):
        (folder / name).write_bytes(encode(lines[number * share : (number + 1) * share]))
    return [folder / name for name in ENCODERS]


def write_parquet(path: Path, values: Sequence[bytes | None], kind: pa.DataType) -> None:
    """Write a file with a column `value` and another, in row groups of three."""
    column = pa.array(values, pa.binary()).cast(kind)
    table = pa.table({"other": pa.array(range(len(values))), "value": column})
    pq.write_table(table, path, row_group_size=3)


class Loads:
    """Loads into one store, with a directory of rejected lines."""

    def __init__(self, spark: SparkSession, home: Path, url: str = "") -> None:
        self._spark = spark
        self.url = url or f"sqlite:///{home}/lineage.db"
        self.rejects = home / "rejects"

    def load(
        self,
        *paths: Path | str,
        form: str = TEXT,
        namespace: str = "",
        rejects_max: RejectLimit = NO_LIMIT,
        take_over: bool = True,
        **settings: Any,
    ) -> LoadReport:
        target = Target(Settings(store=self.url, **settings), namespace, rejects_max, take_over)
        return load(self._spark, [str(path) for path in paths], target, rejects=str(self.rejects), form=form)

    def rows(self) -> Rows:
        return rows(self.url)

    def rejected(self) -> list[Json]:
        """The rejected lines, in the order of the files."""
        files = sorted(self.rejects.glob("*.json"))
        return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
