"""Which store is meant: that of an option, else of the settings, opened with their limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore

_FILE = "sqlite:///"
_MEMORY = "sqlite:///:memory:"


@contextmanager
def opened(settings: Settings, *, new: bool) -> Iterator[LineageStore]:
    """The store of the settings; where it is a file, one that is there unless it may be `new`.

    Raises ConfigurationError or StoreUnavailable.
    """
    url = settings.store
    if not new and url.startswith(_FILE) and url != _MEMORY and not Path(url.removeprefix(_FILE)).exists():
        told = f"there is no store at {url}: `fll sample` or `fll record` makes one, --store names another"
        raise ConfigurationError(told)
    with closing(open_store(settings)) as store:
        yield store
