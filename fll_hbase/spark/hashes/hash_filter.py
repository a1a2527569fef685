"""Construction, on the workers, of the filter of the hashes that a scan found. Each worker gets a copy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.spark.lines.arrow_batches import to_batch
from fll_hbase.store.maintenance.audit.hash_filter import HashFilter, size_bits

SEGMENT_BITS = 2**20
"""The part of a bitmap that one task builds."""

_SEGMENTS = "segment bigint, bits binary"


def build_filter(hashes: DataFrame, *, count: int) -> HashFilter:
    """Return the filter of the column `hash` of a frame with `count` rows."""
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
