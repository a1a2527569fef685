"""Batches of items, bounded in number and size, in the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# 8 MiB: a batch is in memory with its parsed documents, while a whole file or request need not be.
BATCH_BYTES_MAX = 2**23


def split_batches(
    items: Iterable[T],
    *,
    items_max: int,
    size_bytes: Callable[[T], int],
    key: Callable[[T], str] = lambda _: "",
    is_alone: Callable[[T], bool] = lambda _: False,
) -> Iterator[list[T]]:
    """Yield batches of at most `items_max` items and BATCH_BYTES_MAX bytes; a larger item is alone.

    Items with the same non-empty key are in different batches. An item for which `is_alone` returns true is
    alone in its batch.
    """
    batch: list[T] = []
    keys: set[str] = set()
    bytes_sum = 0
    for item in items:
        # Checked before the item is added, so that only an item larger than the limit exceeds it, alone.
        full = len(batch) == items_max or bytes_sum + size_bytes(item) > BATCH_BYTES_MAX
        if batch and (full or key(item) in keys or is_alone(item) or is_alone(batch[-1])):
            yield batch
            batch, keys, bytes_sum = [], set(), 0
        batch.append(item)
        keys.update({key(item)} - {""})
        bytes_sum += size_bytes(item)
    if batch:
        yield batch
