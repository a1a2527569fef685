"""What do runs and end points say as events: lines of OpenLineage, made by the workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from cachetools import LRUCache
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase import openlineage_export
from fll_hbase.config import Settings
from fll_hbase.model.dataset_metadata import DatasetMetadata
from fll_hbase.model.operations import Dataset, Field
from fll_hbase.spark.datasource.run_scan import still_has_content
from fll_hbase.spark.datasource.worker_store import WorkerStore, worker_store
from fll_hbase.store.read.content_cache import Content, ContentMissing

RUNS_AT_ONCE = 500
CONTENTS_KEPT = 64


def run_events(runs: DataFrame, settings: Settings) -> DataFrame:
    """One event for each run."""
    return runs.select("run").mapInArrow(partial(_of_runs, settings=settings), "value string")


def dataset_events(fields: DataFrame, settings: Settings, *, time_ms: int) -> DataFrame:
    """One event for each end point of the table `fields`: what is known of it without any run."""
    said = f.struct("field", f.coalesce("type", f.lit("")).alias("type"))
    grouped = fields.groupBy("namespace", "name").agg(
        f.max("description").alias("description"),
        f.sort_array(f.collect_list(f.when(f.col("field").isNotNull(), said))).alias("fields"),
    )
    made = partial(_of_end_points, settings=settings, time_ms=time_ms)
    return grouped.mapInArrow(made, "value string")


def _of_runs(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    of = worker_store(settings)
    kept: LRUCache[str, Content] = LRUCache(CONTENTS_KEPT)
    for batch in batches:
        runs = batch.column("run").to_pylist()
        for begin in range(0, len(runs), RUNS_AT_ONCE):
            yield _lines(_events(of, kept, runs[begin : begin + RUNS_AT_ONCE]))


def _events(of: WorkerStore, kept: LRUCache[str, Content], runs: list[str]) -> Iterator[dict[str, Any]]:
    """A run that was deleted since it was listed tells nothing."""
    told = of.recording.run_details(runs)
    found = (
        (told[run], _content(of, kept, run, told[run].committed.checksum)) for run in runs if run in told
    )
    pairs = [(one, content) for one, content in found if content is not None]
    yield from openlineage_export.events(pairs, of.catalogue.aliases(openlineage_export.end_points(pairs)))


def _content(of: WorkerStore, kept: LRUCache[str, Content], run: str, checksum: str) -> Content | None:
    """The content of a run; None where both were purged since the run was read."""
    if checksum not in kept:
        try:
            kept[checksum] = of.contents.content(checksum)
        except ContentMissing:
            if still_has_content(of, run, checksum):
                raise
            return None
    return kept[checksum]


def _of_end_points(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, time_ms: int
) -> Iterator[pa.RecordBatch]:
    of = worker_store(settings)
    for batch in batches:
        rows = batch.to_pylist()
        aliases = of.catalogue.aliases([Dataset(row["namespace"], row["name"]) for row in rows])
        yield _lines(openlineage_export.catalogued(_schema(row, aliases), time_ms=time_ms) for row in rows)


def _schema(row: dict[str, Any], aliases: dict[Dataset, list[Dataset]]) -> DatasetMetadata:
    end_point = Dataset(row["namespace"], row["name"])
    fields = tuple(Field(said["field"], said["type"]) for said in row["fields"])
    return DatasetMetadata(end_point, fields, row["description"] or "", tuple(aliases.get(end_point, ())))


def _lines(events: Iterator[dict[str, Any]]) -> pa.RecordBatch:
    said = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events]
    return pa.RecordBatch.from_arrays([pa.array(said, pa.string())], names=["value"])
