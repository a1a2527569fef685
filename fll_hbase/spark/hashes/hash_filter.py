"""Bitmap of 64-bit hashes, built by workers and small enough for each of them to have a copy.

It tells a second scan which texts may be among the hashes that the first one found; a join of the few that
pass with those hashes removes what passed by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.spark.lines.arrow_batches import to_batch

BITS_MIN, BITS_MAX = 2**20, 2**28
"""128 KiB to 32 MiB, which the driver and each worker have in memory, however many hashes there are."""

BITS_PER_HASH = 256
"""One of 256 other hashes passes by chance; of more than a million hashes, up to all others."""

SEGMENT_BITS = 2**20
"""The part of a bitmap that one task builds."""

_SEGMENTS = "segment bigint, bits binary"


class HashFilter:
    """Contains every hash that it was built from, and some others by chance."""

    __slots__ = ("_bits", "_mask")

    def __init__(self, bits: bytes) -> None:
        """Keep a bitmap, whose size is a power of two of bits; the lowest bit of each byte is first."""
        self._bits = bits
        self._mask = 8 * len(bits) - 1

    def __contains__(self, number: Any) -> bool:
        """Return whether a hash, signed or not, may be among those that the filter was built from."""
        position = number & self._mask
        return bool(self._bits[position >> 3] >> (position & 7) & 1)


def build_filter(hashes: DataFrame, *, count: int) -> HashFilter:
    """Return the filter of the column `hash` of a frame with `count` rows."""
    bits = size_bits(count)
    segment_bits = min(bits, SEGMENT_BITS)
    # Of a negative number, too, the lowest bits are those of the unsigned hash.
    position = f.col("hash").bitwiseAND(bits - 1)
    segment = f.shiftright(position, segment_bits.bit_length() - 1)
    positions = hashes.select(position.alias("position"), segment.alias("segment"))
    # Sorted, so that a task has one segment in memory at a time.
    positions = positions.repartition("segment").sortWithinPartitions("segment")
    build = partial(_build_segments, segment_bits=segment_bits)
    segments = {row["segment"]: row["bits"] for row in positions.mapInArrow(build, _SEGMENTS).collect()}
    empty = bytes(segment_bits // 8)
    return HashFilter(b"".join(segments.get(number, empty) for number in range(bits // segment_bits)))


def size_bits(count: int) -> int:
    """Return how many bits the filter of `count` hashes has: a power of two from BITS_MIN to BITS_MAX."""
    return min(max(1 << (BITS_PER_HASH * count).bit_length(), BITS_MIN), BITS_MAX)


def _build_segments(batches: Iterator[pa.RecordBatch], *, segment_bits: int) -> Iterator[pa.RecordBatch]:
    """Yield each segment of the bitmap that has a bit; positions are sorted by segment."""
    for number, group in groupby(_positions(batches), key=itemgetter(1)):
        bits = bytearray(segment_bits // 8)
        for position, _ in group:
            offset = position & (segment_bits - 1)
            bits[offset >> 3] |= 1 << (offset & 7)
        yield to_batch([(number, bytes(bits))], _SEGMENTS)


def _positions(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int]]:
    """Yield the positions in the bitmap that batches have, each with the number of its segment."""
    for batch in batches:
        yield from zip(batch.column("position").to_pylist(), batch.column("segment").to_pylist(), strict=True)
