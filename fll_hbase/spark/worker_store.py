"""What a worker holds of a store between two parts: the open table, and what was decoded of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.store.factory import table_of
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.window_query import WindowReader
from fll_hbase.store.write.commit import RunCommitter
from fll_hbase.tables import Table

_FILE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class WorkerStore:
    """A store as its parts."""

    table: Table
    folds: EventMerger
    contents: ContentCache
    windows: WindowReader
    catalogue: Catalogue
    recording: RunCommitter


def build_worker_store(table: Table, settings: Settings) -> WorkerStore:
    """The parts of a store over a table, bounded as the settings say."""
    folds = EventMerger(table)
    contents = ContentCache(table, cache_bytes=settings.cache_bytes, pairs_max=settings.pairs_max)
    windows = WindowReader(table, contents, folds, clock=now_ms, grace_ms=settings.grace_ms)
    recording = RunCommitter(table, folds, clock=now_ms, grace_ms=settings.grace_ms)
    return WorkerStore(table, folds, contents, windows, Catalogue(table), recording)


@lru_cache(maxsize=2)
def worker_store(settings: Settings) -> WorkerStore:
    """The store of the settings, opened once in a process. Raises ConfigurationError where there is none."""
    path = settings.store.removeprefix(_FILE)
    if settings.store.startswith(_FILE) and not Path(path).exists():
        raise ConfigurationError(f"there is no store at {settings.store}, seen from {Path.cwd()}")
    return build_worker_store(table_of(settings), settings)
