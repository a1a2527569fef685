"""Which store is meant: that of an option, else of the settings, opened with their limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fll_hbase.config import Settings
from fll_hbase.errors import BadSetting
from fll_hbase.store.lineage_store import Limits, LineageStore
from fll_hbase.tables import open_table

_FILE = "sqlite:///"
_MEMORY = "sqlite:///:memory:"


@contextmanager
def opened(settings: Settings, *, new: bool) -> Iterator[LineageStore]:
    """The store of the settings; where it is a file, one that is there unless it may be `new`.

    Raises BadSetting or StoreAway.
    """
    url = settings.store
    if not new and url.startswith(_FILE) and url != _MEMORY and not Path(url.removeprefix(_FILE)).exists():
        told = f"there is no store at {url}: `fll sample` or `fll record` makes one, --store names another"
        raise BadSetting(told)
    store = LineageStore(open_table(url), limits=_limits(settings))
    try:
        yield store
    finally:
        store.close()


def _limits(settings: Settings) -> Limits:
    return Limits(
        level_max=settings.level_max,
        pairs_max=settings.pairs_max,
        connections_max=settings.connections_max,
        runs_max=settings.runs_max,
        cache_bytes=settings.cache_bytes,
        grace_ms=settings.grace_ms,
    )
