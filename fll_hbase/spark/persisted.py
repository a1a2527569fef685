"""Frames that are kept on the workers' disks for as long as several actions read them."""

from __future__ import annotations

from contextlib import ExitStack

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def persist(frame: DataFrame, stack: ExitStack) -> DataFrame:
    """Persist a frame until the stack closes: without, each action would compute it again."""
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    stack.callback(persisted.unpersist)
    return persisted
