"""64-bit hashes of cells and rows, with flags: workers compare whole tables without sending any key.

Filters of such hashes are built on the workers, and each worker gets a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys.layout import Range
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.lines.arrow_batches import to_batch
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.maintenance.audit.hash_filter import HashFilter, size_bits
from fll_hbase.tables import Table

CELL_HASHES = "hash bigint, flags bigint"
"""A hash, and flags that the job defines."""

BATCH_HASHES = 50_000
"""Approximate number of hashes that a worker sends in one batch."""

SEGMENT_BITS = 2**20
"""The part of a bitmap that one task builds."""

_SEGMENTS = "segment bigint, bits binary"

_HASHES = 2**64

HashRange: TypeAlias = Callable[[Table, bytes, bytes], Iterator[pa.RecordBatch]]
"""A function of a table, `start` (included) and `stop` (excluded) that hashes the rows as CELL_HASHES."""


def merge_flags(
    spark: SparkSession, settings: Settings, key_ranges: Sequence[Range], *, hash_range: HashRange
) -> DataFrame:
    """Return a lazy frame of CELL_HASHES: each hash in the key ranges once, with the bitwise or of its flags.

    Workers call `hash_range`, which also chooses the flags, for each part of a range.
    """
    # Only hashes, 16 bytes a cell, move from Python to the JVM and the shuffle, not keys (decision 0016).
    ranges = range_scan.split_ranges(spark, settings, key_ranges)
    hashes = ranges.mapInArrow(partial(_hash_ranges, settings=settings, hash_range=hash_range), CELL_HASHES)
    # Two workers hardly ever have the same hash, so aggregating before the shuffle would only take time.
    shuffled = hashes.repartition(ranges.rdd.getNumPartitions(), "hash")
    return shuffled.groupBy("hash").agg(f.bit_or("flags").alias("flags"))


def flagged_batch(groups: Iterable[tuple[int, Sequence[int]]]) -> pa.RecordBatch:
    """Return a batch of CELL_HASHES from pairs of flags and the unsigned 64-bit hashes that have them.

    At least one pair is needed. Its hashes may be empty.
    """
    groups = list(groups)
    # Spark has no unsigned type. The bits are reinterpreted, which keeps equal hashes equal.
    hashes = [pa.array(numbers, pa.uint64()).view(pa.int64()) for _, numbers in groups]
    flags = [pa.repeat(pa.scalar(flag, pa.int64()), len(numbers)) for flag, numbers in groups]
    return hash_batch(pa.concat_arrays(hashes), pa.concat_arrays(flags))


def hash_batch(hashes: Any, flags: Any) -> pa.RecordBatch:
    """Return a batch of CELL_HASHES from signed hashes and, in the same order, the flags of each."""
    return pa.RecordBatch.from_arrays(
        [pa.array(hashes, pa.int64()), pa.array(flags, pa.int64())], ["hash", "flags"]
    )


def to_signed(number: int) -> int:
    """Return an unsigned 64-bit hash as Spark's signed bigint with the same bits."""
    return number - _HASHES if number >= _HASHES // 2 else number


def _hash_ranges(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, hash_range: HashRange
) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, the batches that `hash_range` returns for ranges in columns `start` and `stop`."""
    for batch in batches:
        for split in batch.to_pylist():
            yield from hash_range(worker_table(settings), split["start"], split["stop"])


def build_filter(hashes: DataFrame, *, count: int) -> HashFilter:
    """Return the filter of the column `hash` of a frame with `count` rows. Runs a job of Spark."""
    bits = size_bits(count)
    segment_bits = min(bits, SEGMENT_BITS)
    # The lowest bits of a negative number equal the lowest bits of the unsigned hash.
    position = f.col("hash").bitwiseAND(bits - 1)
    segment = f.shiftright(position, segment_bits.bit_length() - 1)
    positions = hashes.select(position.alias("position"), segment.alias("segment"))
    # Sorted, so that a task has one segment in memory at a time.
    positions = positions.repartition("segment").sortWithinPartitions("segment")
    build = partial(_build_segments, segment_bits=segment_bits)
    segments = {row["segment"]: row["bits"] for row in positions.mapInArrow(build, _SEGMENTS).collect()}
    empty = bytes(segment_bits // 8)
    return HashFilter(b"".join(segments.get(number, empty) for number in range(bits // segment_bits)))


def _build_segments(batches: Iterator[pa.RecordBatch], *, segment_bits: int) -> Iterator[pa.RecordBatch]:
    """Yield each segment of the bitmap that has a bit. Positions must be sorted by segment."""
    for number, group in groupby(_positions(batches), key=itemgetter(1)):
        bits = bytearray(segment_bits // 8)
        for position, _ in group:
            offset = position & (segment_bits - 1)
            bits[offset >> 3] |= 1 << (offset & 7)
        yield to_batch([(number, bytes(bits))], _SEGMENTS)


def _positions(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int]]:
    """Yield the positions in the bitmap from batches, each with the number of its segment."""
    for batch in batches:
        yield from zip(batch.column("position").to_pylist(), batch.column("segment").to_pylist(), strict=True)
