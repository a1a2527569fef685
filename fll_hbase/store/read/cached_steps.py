"""Edges of contents at the fields of a walk, from the cache of contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from fll_hbase import deadline
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_steps import FieldStep, steps_at
from fll_hbase.model.window import Direction
from fll_hbase.store.read.content_cache import NEVER_CACHED, ContentCache

STEPS_MAX = 10_000
"""Edges at the fields of one read that are cached; more are made one by one."""

_BYTES_PER_STEP = 250
"""Estimate of the size in memory, measured."""


def steps_of(
    contents: ContentCache,
    checksum: str,
    direction: Direction,
    dataset: Dataset,
    names: frozenset[str] | None,
) -> Iterable[FieldStep]:
    """Return the edges of a content into or out of fields of a dataset, see `steps_at`.

    Raises DeadlineExceeded.
    """

    def read() -> tuple[int, Iterable[FieldStep]]:
        backward = direction is Direction.BACKWARD
        steps = _checked(steps_at(contents.field_map(checksum), dataset, names, backward=backward))
        first = tuple(islice(steps, STEPS_MAX))
        if len(first) == STEPS_MAX:
            return NEVER_CACHED, chain(first, steps)
        return _BYTES_PER_STEP * (len(first) + len(names or ()) + 1), first

    return contents.cached(("steps", checksum, direction, dataset, names), read)


def _checked(steps: Iterable[FieldStep]) -> Iterator[FieldStep]:
    for step in steps:
        # Here, because contents that are all cached never wait for the store.
        deadline.check()
        yield step
