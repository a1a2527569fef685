"""Bitmap of 64-bit hashes, small enough for each reader of a table to have a copy.

A second scan uses it to select texts that may be among the hashes found by the first scan. A join of the
selected texts with these hashes removes those selected by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BITS_MIN, BITS_MAX = 2**20, 2**28
"""128 KiB to 32 MiB, kept in memory by the driver and each worker for any number of hashes."""

BITS_PER_HASH = 256
"""One of 256 other hashes is selected by chance. The share grows, up to all, above a million hashes."""


class HashFilter:
    """Contains every hash that it was built from, and some others by chance."""

    __slots__ = ("_bits", "_mask")

    def __init__(self, bits: bytes) -> None:
        """Keep a bitmap whose size in bits is a power of two; the lowest bit of each byte comes first."""
        self._bits = bits
        self._mask = 8 * len(bits) - 1

    def __contains__(self, number: Any) -> bool:
        """Return whether a hash, signed or unsigned, may be among the hashes given to `filter_of`."""
        position = number & self._mask
        return bool(self._bits[position >> 3] >> (position & 7) & 1)


def filter_of(hashes: Iterable[int], *, count: int) -> HashFilter:
    """Return the filter of `count` hashes, built in one process."""
    bits = bytearray(size_bits(count) // 8)
    mask = 8 * len(bits) - 1
    for number in hashes:
        bits[(number & mask) >> 3] |= 1 << (number & 7)
    return HashFilter(bytes(bits))


def size_bits(count: int) -> int:
    """Return how many bits the filter of `count` hashes has: a power of two from BITS_MIN to BITS_MAX."""
    return min(max(1 << (BITS_PER_HASH * count).bit_length(), BITS_MIN), BITS_MAX)
