"""Frames of OpenLineage events, one JSON object a line, built by the workers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from cachetools import LRUCache
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.runs import RunKey, run_key
from fll_hbase.model.tags import FieldTag
from fll_hbase.queries import openlineage_export
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import NotFound
from fll_hbase.runtime.json_types import Json
from fll_hbase.spark.datasource.run_scan import still_has_content
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.read.content_cache import Content, ContentMissing
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.store.tags import TagStore

BATCH_RUNS = 500
CACHED_CONTENTS = 64


def run_events(runs: DataFrame, settings: Settings) -> DataFrame:
    """Return a lazy frame with an event, in the column `value`, for each of the runs that still exists."""
    return runs.select("run", "namespace").mapInArrow(
        partial(_run_batches, settings=settings), "value string"
    )


def dataset_events(fields: DataFrame, settings: Settings, *, time_ms: int) -> DataFrame:
    """Return a lazy frame with one event for each dataset of the table `fields`, in the column `value`.

    An event has the schema, description, aliases and tags of its dataset, and the time `time_ms` (epoch ms).
    """
    field = f.struct("field", f.coalesce("type", f.lit("")).alias("type"))
    # The row without a field has the description; sorting makes the event independent of partitions.
    datasets = fields.groupBy("namespace", "name").agg(
        f.max("description").alias("description"),
        f.sort_array(f.collect_list(f.when(f.col("field").isNotNull(), field))).alias("fields"),
    )
    return datasets.mapInArrow(partial(_dataset_batches, settings=settings, time_ms=time_ms), "value string")


def _run_batches(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, the events of the runs in `run` and `namespace` as lines."""
    store = worker_store(settings)
    cache: LRUCache[str, Content] = LRUCache(CACHED_CONTENTS)
    for batch in batches:
        columns = batch.column("run").to_pylist(), batch.column("namespace").to_pylist()
        runs = list(map(run_key, *columns))
        # Read in batches, so that one call returns the rows of many runs.
        for start in range(0, len(runs), BATCH_RUNS):
            yield _lines(_run_events(store, cache, runs[start : start + BATCH_RUNS]))


def _run_events(store: StoreComponents, cache: LRUCache[str, Content], runs: list[RunKey]) -> Iterable[Json]:
    """Return the events of runs in their order, without runs deleted since. Raises ContentMissing."""
    # Runs recorded by an earlier release have no namespace in their keys.
    details = store.events.run_details([*runs, *(RunKey(run.run) for run in runs if run.namespace)])
    listed = (
        stored
        for run in runs
        if (stored := details.get(run) or details.get(RunKey(run.run)))
        and run.namespace in ("", stored.committed.run.namespace)
    )
    contents = ((stored, _content(store, cache, stored.committed)) for stored in listed)
    pairs = [(run, content) for run, content in contents if content is not None]
    aliases = store.catalogue.aliases(openlineage_export.datasets_of_runs(pairs))
    return openlineage_export.run_events(pairs, aliases)


def _content(
    store: StoreComponents, cache: LRUCache[str, Content], committed: CommittedRun
) -> Content | None:
    """Return the content of a run, or None if both were purged since the run was read.

    Raises ContentMissing, a CorruptRow, if the run still refers to it.
    """
    # A missing content is corruption only while a run still has it, since retention may run during an export.
    checksum = committed.checksum
    if checksum not in cache:
        try:
            cache[checksum] = store.contents.content(checksum)
        except ContentMissing:
            if still_has_content(store, committed.key, checksum):
                raise
            return None
    return cache[checksum]


def _dataset_batches(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, time_ms: int
) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, the events of datasets, one for each row of the batches, as lines."""
    store = worker_store(settings)
    for batch in batches:
        rows = batch.to_pylist()
        aliases = store.catalogue.aliases([Dataset(row["namespace"], row["name"]) for row in rows])
        tags = TagStore(store.table, store.catalogue, clock=now_ms)
        has_tags = next(tags.tags(), None) is not None
        events = ((metadata := _metadata(row, aliases), _tags(tags, metadata, has_tags)) for row in rows)
        yield _lines(
            openlineage_export.dataset_event(metadata, listed, time_ms=time_ms) for metadata, listed in events
        )


def _tags(tags: TagStore, metadata: DatasetMetadata, has_tags: bool) -> Iterable[FieldTag]:
    """Return the tags of a dataset's fields; () if it was purged, or the store has none (`has_tags`)."""
    try:
        return list(tags.dataset_tags(metadata.dataset)) if has_tags else ()
    # The dataset was purged after the catalogue was read.
    except NotFound:
        return ()


def _metadata(row: dict[str, Any], aliases: dict[Dataset, list[Dataset]]) -> DatasetMetadata:
    """Return a dataset's metadata from its row of fields and description, and its aliases."""
    dataset = Dataset(row["namespace"], row["name"])
    fields = tuple(Field(field["field"], field["type"]) for field in row["fields"])
    return DatasetMetadata(dataset, fields, row["description"] or "", tuple(aliases.get(dataset, ())))


def _lines(events: Iterable[Json]) -> pa.RecordBatch:
    """Return events as a batch of compact JSON in the column `value`."""
    lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events]
    return pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], names=["value"])
